#include "mcp/http/body_framing.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"
#include "mcp/http/status.h"

namespace mcp::http {
namespace {

constexpr std::size_t kSizeDigitsMax = 8;

}  // namespace

BodyFraming frame_body(const Headers& headers, const Bounds& bounds) {
  BodyFraming framing;
  if (const auto encoding = headers.find("Content-Encoding"); encoding != headers.end()) {
    const std::string name = base::lower(encoding->second);
    framing.gzip = name == "gzip" && headers.count("Content-Encoding") == 1;
    if (!framing.gzip && name != "identity") return {.refusal = kUnsupportedMediaType};
  }
  const std::size_t lengths = headers.count("Content-Length");
  const std::size_t codings = headers.count("Transfer-Encoding");
  if (lengths + codings > 1) return {.refusal = kBadRequest};
  if (codings == 1) {
    if (base::lower(headers.find("Transfer-Encoding")->second) != "chunked") {
      return {.refusal = kNotImplemented};
    }
    framing.chunked = true;
    return framing;
  }
  if (lengths == 0) return framing;
  const std::string& text = headers.find("Content-Length")->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), framing.length);
  if (error == std::errc::result_out_of_range) return {.refusal = kTooLarge};
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-') {
    return {.refusal = kBadRequest};
  }
  if (framing.length > bounds.body_bytes) framing.refusal = kTooLarge;
  return framing;
}

bool ChunkCheck::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (state_ == State::kData) {
      const std::size_t taken = std::min(left_, bytes.size());
      left_ -= taken;
      bytes.remove_prefix(taken);
      if (left_ == 0) state_ = State::kDataEnd;
      continue;
    }
    if (!take(bytes.front())) return false;
    bytes.remove_prefix(1);
  }
  return true;
}

bool ChunkCheck::take_size(char byte) {
  if (byte == '\r' && digits_ > 0) {
    state_ = State::kSizeEnd;
    return true;
  }
  const auto digit = base::number_of<unsigned>({&byte, 1}, 16);
  if (!digit || ++digits_ > kSizeDigitsMax) return false;
  left_ = left_ * 16 + *digit;
  return true;
}

bool ChunkCheck::take(char byte) {
  switch (state_) {
    case State::kSize:
      return take_size(byte);
    case State::kSizeEnd:
      if (left_ > bytes_max_ - total_) {
        too_large_ = true;
        return false;
      }
      total_ += left_;
      state_ = left_ == 0 ? State::kLast : State::kData;
      digits_ = 0;
      return byte == '\n';
    case State::kDataEnd:
      state_ = State::kDataEndLf;
      return byte == '\r';
    case State::kDataEndLf:
      state_ = State::kSize;
      return byte == '\n';
    case State::kLast:
      state_ = State::kLastLf;
      return byte == '\r';
    case State::kLastLf:
      state_ = State::kEnd;
      return byte == '\n';
    case State::kData:
    case State::kEnd:
      break;
  }
  return false;
}

}  // namespace mcp::http
