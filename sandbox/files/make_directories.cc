// Directories that are to be in a session before its code is. mkdirat(2), openat2(2).
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "sandbox/files/box_files.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::files {

base::Status BoxFiles::make_directories(const std::string& path) const {
  const ActingIds ids(identity_);
  TRY(ids.status());
  std::string done;
  std::string_view rest = path;
  base::UniqueFd parent = open_without_links(root_.get(), "/", O_PATH | O_DIRECTORY);
  while (parent.valid() && !rest.empty()) {
    const std::string name(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name.empty()) continue;
    done += "/" + name;
    if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) break;
    parent = open_without_links(root_.get(), done, O_PATH | (rest.empty() ? 0 : O_DIRECTORY));
    if (parent.valid() && rest.empty()) return base::done();
  }
  return path_error(path, errno, Purpose::kWrite);
}

}  // namespace sandbox::files
