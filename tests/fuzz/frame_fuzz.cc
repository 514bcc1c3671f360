// The bytes a box or an interpreter sends: frames, then JSON, then runs and requests.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/run.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  sandbox::wire::FrameDecoder decoder(1 << 16);
  // In two pieces: where a read ends must not matter.
  const std::size_t half = size / 2;
  std::size_t payload_bytes = 0;
  for (const std::string_view piece : {bytes.substr(0, half), bytes.substr(half)}) {
    decoder.feed(piece);
    while (true) {
      auto frame = decoder.next();
      if (!frame.ok()) return 0;
      if (!frame.value()) break;
      payload_bytes += frame.value()->payload.size();
      const auto value = base::parse_json(frame.value()->payload);
      if (!value.ok()) continue;
      (void)sandbox::run_from_json(value.value());
      (void)sandbox::request_from_json(value.value());
      (void)sandbox::wire::check_reply(value.value());
    }
  }
  if (payload_bytes > size) std::abort();
  return 0;
}
