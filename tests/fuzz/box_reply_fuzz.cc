// Reads what a box that lies can put before a client: its reply as a run, and the view made of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/run.h"
#include "tools/mcp/run_text.h"
#include "tools/mcp/run_view.h"

namespace {

// The stream files lie in the box's directory too: what is read from them need not be what the
// record says of them.
std::string stream_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reply = base::parse_json({reinterpret_cast<const char*>(data), size});
  if (!reply.ok()) return 0;
  const auto run = sandbox::run_from_json(reply.value());
  if (!run.ok()) return 0;
  const std::string stream = stream_of(data, size);
  const auto read = [&stream](tools::Stream, std::int64_t offset,
                              std::size_t bytes) -> base::Result<std::string> {
    const auto start = static_cast<std::uint64_t>(offset);
    return start >= stream.size() ? std::string() : stream.substr(start, bytes);
  };
  for (const std::optional<std::int64_t> offset :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    const tools::RunView view{"session_x", run.value(), read, offset, offset};
    const auto structured = tools::structured_run(view);
    // A client's JSON parser must be able to read it: UTF-8 in every string.
    const auto again = base::parse_json(base::print_json(structured));
    if (!again.ok()) std::abort();
    (void)tools::text_of_run(structured);
  }
  return 0;
}
