// Bodies of the Connect protocol.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tools/api/e2b/envelope.h"

namespace e2b = tools::api::e2b;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)e2b::parse_message(input);
  const auto messages = e2b::messages_in(input);
  if (!messages.ok()) return 0;
  // Messages that were taken apart are the same when it is put together again.
  std::string again;
  for (const auto& message : messages.value()) again += e2b::enveloped(0, message);
  const auto second = e2b::messages_in(again);
  if (!second.ok() || second.value() != messages.value()) std::abort();
  return 0;
}
