// A StreamFile keeps one output stream of one run in a file, up to a cap: what comes first, or of a
// terminal what came last, where the file has a hole in place of what is forgotten. fallocate(2).
// Most runs leave one of their streams empty: the file is made with its first byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::box {

class StreamFile {
 public:
  enum class Keep { kFirst, kLast };
  // `directory_fd` is borrowed for this call only.
  static base::Result<std::shared_ptr<StreamFile>> create(int directory_fd, std::string name,
                                                          std::int64_t bytes_max,
                                                          Keep keep = Keep::kFirst);

  // Writes what fits; the rest is counted as dropped.
  void append(std::string_view bytes);
  // From now on calls `told` with the bytes that were written, negative for those forgotten.
  void on_growth(std::function<void(std::int64_t bytes)> told) { grown_ = std::move(told); }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool over_limit() const { return over_limit_; }
  // It could not be written: the host's disk is full, or out of inodes.
  [[nodiscard]] bool no_room() const { return no_room_; }
  // Returns what was appended last, a few kilobytes.
  [[nodiscard]] const std::string& tail() const { return tail_; }

 private:
  StreamFile(base::UniqueFd directory, std::string name, std::int64_t bytes_max, Keep keep)
      : directory_(std::move(directory)),
        name_(std::move(name)),
        bytes_max_(bytes_max),
        keep_(keep) {}

  base::Status open_file();
  void forget_some();

  base::UniqueFd directory_;  // until there is the file
  std::string name_;
  base::UniqueFd file_;
  std::int64_t bytes_max_;
  Keep keep_;
  std::int64_t bytes_ = 0;
  std::int64_t forgotten_bytes_ = 0;
  bool over_limit_ = false;
  bool no_room_ = false;
  std::string tail_;
  std::function<void(std::int64_t bytes)> grown_;
};

}  // namespace sandbox::box
