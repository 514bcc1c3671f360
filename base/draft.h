// A file that is written out of sight and appears complete.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace base {

// Has no name until it is published where the file system can do that (O_TMPFILE of open(2)), so
// that even a server that is killed leaves nothing behind; else a random one, removed again by the
// destructor. Every function returns zero or errno. For one thread.
class Draft {
 public:
  // Names that a draft may have of its own begin so.
  static constexpr std::string_view kNamePrefix = ".hutch-";

  // `directory_fd` is borrowed, where it will appear; may be O_PATH.
  explicit Draft(int directory_fd) : directory_fd_(directory_fd) {}
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  int fill(std::string_view content, mode_t mode);

  // Writes behind what is there.
  int append(std::string_view content);

  // Copies the first `bytes` of `source_fd` (borrowed, a regular file), which share their blocks
  // with it where the file system can do that; on disk when it returns. EIO when there are fewer. A
  // file system without modes gives its own.
  int copy(int source_fd, std::int64_t bytes, mode_t mode);

  // Sets extended attributes, by their whole names. E2BIG: more than the file system keeps of a
  // file.
  int set_attributes(const std::map<std::string, std::string>& attributes) const;

  // Makes it another user's and group's, before anybody sees it.
  int give_to(uid_t id);

  // Returns EEXIST when there is an entry of that name already.
  int publish_new(const std::string& name);

  // Replaces the entry of that name, not what it may point at. Makes it when there is none.
  int publish_over(const std::string& name);

 private:
  int open();
  int link_as(const std::string& name) const;

  int directory_fd_;
  UniqueFd file_;
  std::string name_;  // while it has one of its own
};

}  // namespace base
