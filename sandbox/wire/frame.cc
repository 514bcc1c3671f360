#include "sandbox/wire/frame.h"

#include <cstdint>

namespace sandbox::wire {
namespace {
constexpr std::size_t kMovedBytes = 1U << 20;
}  // namespace

std::string encode_frame(char kind, std::string_view payload) {
  std::string frame;
  frame.reserve(kFrameHeadBytes + payload.size());
  const auto size = static_cast<std::uint32_t>(payload.size());
  for (int shift = 0; shift < 32; shift += 8) frame += static_cast<char>((size >> shift) & 0xff);
  frame += kind;
  frame += payload;
  return frame;
}

base::Result<std::optional<Frame>> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < kFrameHeadBytes) return std::optional<Frame>();
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(rest[i])) << (8 * i);
  }
  const char kind = rest[4];
  if (kind != 'J' && kind != 'B') {
    return base::error(base::Error::Kind::kInvalid, "frame of unknown kind");
  }
  const std::size_t most = kind == 'J' ? json_bytes_max_ : payload_bytes_max_;
  if (size > most) {
    return base::error(base::Error::Kind::kInvalid, "frame of " + std::to_string(size) +
                                                        " bytes, at most " + std::to_string(most) +
                                                        " are allowed");
  }
  if (rest.size() < kFrameHeadBytes + size) return std::optional<Frame>();
  Frame frame{kind, std::string(rest.substr(kFrameHeadBytes, size))};
  start_ += kFrameHeadBytes + size;
  // Moving the rest for every frame would make many small frames quadratic.
  if (start_ == buffer_.size() || start_ > kMovedBytes) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  // One large frame would else keep its room for ever.
  if (buffer_.empty() && buffer_.capacity() > kMovedBytes) buffer_ = {};
  return std::optional<Frame>(std::move(frame));
}

}  // namespace sandbox::wire
