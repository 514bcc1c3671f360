// Finds how long the body of a request is, and checks the chunks it may come in.
#pragma once

#include <cstddef>
#include <string_view>

#include "mcp/http/bounds.h"
#include "mcp/http/message.h"

namespace mcp::http {

struct BodyFraming {
  int refusal = 0;  // HTTP status; 0: fine
  bool chunked = false;
  bool gzip = false;       // packed, which few routes take: Route::takes_gzip
  std::size_t length = 0;  // when not chunked
};

// Anything that two readers could read differently is refused, and so is any other encoding.
BodyFraming frame_body(const Headers& headers, const Bounds& bounds);

// Follows a chunked body (RFC 9112 section 7.1) as it is read, without keeping it. Extensions and
// trailers are refused: nobody sends them, and they would be a body beside the body.
class ChunkCheck {
 public:
  explicit ChunkCheck(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes the next bytes of the body as they came. Returns false when they are no chunks, or too
  // much.
  bool feed(std::string_view bytes);
  [[nodiscard]] bool too_large() const { return too_large_; }
  [[nodiscard]] bool complete() const { return state_ == State::kEnd; }

 private:
  enum class State { kSize, kSizeEnd, kData, kDataEnd, kDataEndLf, kLast, kLastLf, kEnd };
  bool take_size(char byte);
  bool take(char byte);

  const std::size_t bytes_max_;
  State state_ = State::kSize;
  std::size_t digits_ = 0;
  std::size_t left_ = 0;   // bytes of the chunk that are to come
  std::size_t total_ = 0;  // bytes of all chunks so far
  bool too_large_ = false;
};

}  // namespace mcp::http
