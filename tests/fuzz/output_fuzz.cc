// Output of a box on its way to a client: invalid UTF-8, cuts inside a character, base64.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "tools/text_window.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = data[0];
  const std::size_t whole = tools::whole_characters(bytes, cut);
  require(whole <= cut && whole <= bytes.size());
  require(tools::broken_start(bytes) <= bytes.size());
  const std::string text = tools::to_utf8(bytes);
  require(tools::to_utf8(text) == text);
  require(base::parse_json(base::print_json(text)).ok());
  const auto back = base::from_base64_lines(base::to_base64(bytes));
  require(back == bytes);
  (void)base::from_base64_lines(bytes);
  return 0;
}
