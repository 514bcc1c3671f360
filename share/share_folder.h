// The folder of the person at this machine where what is shared is found under its own name.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"

namespace share {

// A name may have so many files with different contents; beyond that nobody finds anything.
inline constexpr int kSameNameMax = 1000;

// Copies what is shared into the person's folder. The copies are the person's: never replaced,
// changed or removed, also not when the share expires. Safe from many threads and processes.
class ShareFolder {
 public:
  // `path` is absolute; empty: nobody wants copies. Nothing is made before the first one.
  // `user_umask` is of whoever started hutch.
  ShareFolder(std::string path, mode_t user_umask)
      : path_(std::move(path)), user_umask_(user_umask) {}

  [[nodiscard]] bool wants_copies() const { return !path_.empty(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  // Copies `stored_fd` (borrowed, a regular file that no longer changes) under `filename`, a result
  // of safe_filename(), or the first of "name (2).ext", "name (3).ext" and so on that is free, and
  // returns its path. A file that is there with this content already is the copy. It appears
  // complete or, after an error, not at all; the message is for the person.
  [[nodiscard]] base::Result<std::string> put(int stored_fd, const std::string& filename) const;

 private:
  std::string path_;
  mode_t user_umask_;
};

// Returns where "name.ext" has its extension, .tar with what follows it; its size where it has
// none.
std::size_t extension_at(std::string_view filename);

// Returns "name.ext" for 1, else "name (2).ext".
std::string numbered_filename(const std::string& filename, int number);

}  // namespace share
