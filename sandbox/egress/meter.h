// How many bytes a session may still send and receive: counted as they go, and told of once when
// they are used up.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

namespace sandbox::egress {

class Meter {
 public:
  // `used_up` is called while somebody counts.
  void set(std::int64_t bytes_left, std::function<void()> used_up) {
    left_ = bytes_left;
    used_up_ = std::move(used_up);
  }
  void add(std::int64_t bytes) {
    const bool was_used_up = is_used_up();
    left_ -= bytes;
    if (is_used_up() && !was_used_up && used_up_) used_up_();
  }
  [[nodiscard]] bool is_used_up() const { return left_ <= 0; }

 private:
  std::int64_t left_ = std::numeric_limits<std::int64_t>::max();
  std::function<void()> used_up_;
};

// Of one direction of a connection.
class ByteCount {
 public:
  explicit ByteCount(std::shared_ptr<Meter> meter) : meter_(std::move(meter)) {}

  void operator+=(std::int64_t bytes) {
    value_ += bytes;
    meter_->add(bytes);
  }
  operator std::int64_t() const { return value_; }  // NOLINT(google-explicit-constructor)

 private:
  std::shared_ptr<Meter> meter_;
  std::int64_t value_ = 0;
};

}  // namespace sandbox::egress
