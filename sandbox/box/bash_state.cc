#include "sandbox/box/bash_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "sandbox/files/open_in_root.h"

namespace sandbox::box {

std::string bash_state_version(int root_fd) {
  const base::UniqueFd file =
      files::open_without_links(root_fd, "run/hutch/state/bash/state", O_PATH);
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return "";
  return std::to_string(status.st_ino) + " " + std::to_string(status.st_ctim.tv_sec) + "." +
         std::to_string(status.st_ctim.tv_nsec);
}

}  // namespace sandbox::box
