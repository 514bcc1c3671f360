// Remembers what texts were read as: sessions share most texts of a column, and one call reads its
// session several times. Safe from many threads.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"

namespace sessions {

// Holds values of T by the text that each was read from, which alone decides it.
template <typename T>
class TextMemo {
 public:
  using Read = base::Result<T> (*)(const std::string& text);

  explicit TextMemo(Read read) : read_(read) {}

  // Returns what `read` made of the text. Fails as that does, and then remembers nothing.
  base::Result<T> value_of(const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = values_.find(text); known != values_.end()) return known->second;
    }
    base::Result<T> value = read_(text);
    if (!value.ok() || text.size() > kTextBytesMax) return value;
    const std::lock_guard lock(mutex_);
    if (values_.size() >= kTextsMax) values_.clear();
    values_.emplace(text, value.value());
    return value;
  }

 private:
  static constexpr std::size_t kTextsMax = 64;
  static constexpr std::size_t kTextBytesMax = 4'096;

  const Read read_;
  std::mutex mutex_;
  std::map<std::string, T, std::less<>> values_;
};

}  // namespace sessions
