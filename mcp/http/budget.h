// Bytes that many share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace mcp::http {

class Budget {
 public:
  explicit Budget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Holds the bytes until the last copy of what is returned has gone; null: there is no room.
  static std::shared_ptr<const void> take(const std::shared_ptr<Budget>& budget,
                                          std::size_t bytes) {
    if ((budget->bytes_ += bytes) > budget->bytes_max_) {
      budget->bytes_ -= bytes;
      return nullptr;
    }
    return {budget.get(), [budget, bytes](const void*) { budget->bytes_ -= bytes; }};
  }

  void add(std::size_t bytes) { bytes_ += bytes; }
  void remove(std::size_t bytes) { bytes_ -= bytes; }
  [[nodiscard]] bool exceeded() const { return bytes_ > bytes_max_; }

 private:
  const std::size_t bytes_max_;
  std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace mcp::http
