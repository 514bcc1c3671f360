// Frames: how hutch and its boxes, and a box and its interpreters, cut a byte stream into messages.
//
// A frame is a head of five bytes, the length of the payload (32 bits, little-endian) and its kind
// ('J' for a JSON object, 'B' for bytes that belong to the next 'J' frame), then the payload.
// Whoever reads decides how long a payload may be; both sides treat each other as hostile.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sandbox::wire {

inline constexpr std::size_t kFrameHeadBytes = 5;

struct Frame {
  char kind = 'J';
  std::string payload;
};

std::string encode_frame(char kind, std::string_view payload);

// Collects bytes and gives whole frames back. After an Error the stream is useless.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t payload_bytes_max)
      : FrameDecoder(payload_bytes_max, payload_bytes_max) {}
  // JSON costs many times its size once it is parsed, so it may have a limit of its own.
  FrameDecoder(std::size_t payload_bytes_max, std::size_t json_bytes_max)
      : payload_bytes_max_(payload_bytes_max), json_bytes_max_(json_bytes_max) {}

  void feed(std::string_view bytes) { buffer_.append(bytes); }

  // Returns the next whole frame; nothing when more bytes are needed; kInvalid on a head that is
  // wrong.
  base::Result<std::optional<Frame>> next();

  // Returns how many bytes it holds: of frames that next() has not given back yet, and up to 1 MiB
  // of those that it has.
  [[nodiscard]] std::size_t held_bytes() const { return buffer_.size(); }

 private:
  std::size_t payload_bytes_max_;
  std::size_t json_bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;  // where the first byte is that was not given back yet
};

}  // namespace sandbox::wire
