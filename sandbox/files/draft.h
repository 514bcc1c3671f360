// A file that is written out of sight and appears complete.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "sandbox/base/fd.h"

namespace sandbox::files {

// Has no name until it is published where the file system can do that (O_TMPFILE of open(2)), so
// that even a server that is killed leaves nothing behind; else a random one, removed again by the
// destructor. Every function returns zero or errno. For one thread.
class Draft {
 public:
  // `directory_fd` is borrowed, where it will appear; may be O_PATH.
  explicit Draft(int directory_fd) : directory_fd_(directory_fd) {}
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  int fill(std::string_view content, mode_t mode);

  // EEXIST when there is an entry of that name already.
  int publish_new(const std::string& name);

  // Replaces the entry of that name, not what it may point at. Makes it when there is none.
  int publish_over(const std::string& name);

 private:
  int open();
  int link_as(const std::string& name) const;

  int directory_fd_;
  base::UniqueFd file_;
  std::string name_;  // while it has one of its own
};

}  // namespace sandbox::files
