// A body that comes packed: Content-Encoding gzip, RFC 1952.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

namespace mcp::http {

// Unpacks one body, to at most `bytes_max` bytes, however little is packed.
class Gunzip {
 public:
  enum class State { kGoesOn, kWrong, kTooMuch };

  explicit Gunzip(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Appends what the next bytes of the body unpack to. After anything but kGoesOn it is of no use.
  State feed(std::string_view bytes, std::string& unpacked);
  // Returns whether at least one member has come, and all that have begun have come to their end.
  [[nodiscard]] bool complete() const { return members_ > 0 && !is_within_member_; }

 private:
  const std::size_t bytes_max_;
  z_stream stream_{};
  bool is_open_ = false;
  bool is_within_member_ = false;
  std::size_t members_ = 0;
};

}  // namespace mcp::http
