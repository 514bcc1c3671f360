// Bounds how many of something there are, such as connections over all sessions, so that
// descriptors and memory are left for those that come.
#pragma once

#include <cstddef>
#include <memory>

namespace sandbox::egress {

class Places {
 public:
  explicit Places(std::size_t most) : most_(most) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  // Returns a place, taken until it is let go; null when all are, or when whoever asks has as many
  // of them already as are left for others. This has to outlive it.
  std::shared_ptr<void> take(std::size_t had = 0) {
    if (had >= most_ - taken_) return nullptr;
    ++taken_;
    return {this, [](Places* places) { --places->taken_; }};
  }

 private:
  const std::size_t most_;
  std::size_t taken_ = 0;
};

}  // namespace sandbox::egress
