#include "sandbox/box/new_obeyed_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/text.h"
#include "sandbox/box/obeyed_files.h"
#include "sandbox/host_folder.h"

namespace sandbox::box {
namespace {

constexpr std::size_t kNamedMost = 5;

// Nothing that box code can make is followed: /mnt and the folders' names in it are of the plan.
base::UniqueFd open_directory_below(int directory, const std::string& name) {
  return base::UniqueFd(
      ::openat(directory, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_of_this_machine(int directory) {
  constexpr std::array<std::int64_t, 8> kOthers = {
      NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
      FUSE_SUPER_MAGIC, V9FS_MAGIC,      CEPH_SUPER_MAGIC, AFS_SUPER_MAGIC};
  struct statfs filesystem {};
  if (::fstatfs(directory, &filesystem) != 0) return false;
  const auto magic = static_cast<std::int64_t>(filesystem.f_type);
  return std::find(kOthers.begin(), kOthers.end(), magic) == kOthers.end();
}

void add_obeyed_name(int directory, const std::string& place, std::string_view name,
                     ObeyedNames& names) {
  struct stat status {};
  const std::string path(name);
  if (::fstatat(directory, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  names[place + "/" + path] = {status.st_ino, status.st_mode & S_IFMT};
}

}  // namespace

std::vector<HostFolder> folders_to_look_into(int root_fd, const BoxSpec& spec) {
  std::vector<HostFolder> folders;
  for (const HostFolder& folder : spec.host_folders) {
    const base::UniqueFd top = open_directory_below(root_fd, place_of(folder).substr(1));
    if (folder.writable && top.valid() && is_of_this_machine(top.get())) folders.push_back(folder);
  }
  return folders;
}

ObeyedNames find_obeyed_names(int root_fd, const std::vector<HostFolder>& folders) {
  ObeyedNames names;
  for (const HostFolder& folder : folders) {
    const std::string place = place_of(folder);
    const base::UniqueFd top = open_directory_below(root_fd, place.substr(1));
    struct statvfs mount {};
    // It may have been narrowed: what appears there is not the code's.
    if (!top.valid() || ::fstatvfs(top.get(), &mount) != 0) continue;
    if ((mount.f_flag & ST_RDONLY) != 0) continue;
    for (const ObeyedFile& file : kObeyedFiles) add_obeyed_name(top.get(), place, file.name, names);
    const std::string shared(kSharedDirectory);
    const base::UniqueFd both = open_directory_below(top.get(), shared);
    if (!both.valid()) continue;
    for (const ObeyedFile& file : kObeyedInShared) {
      add_obeyed_name(both.get(), place + "/" + shared, file.name, names);
    }
  }
  return names;
}

std::string note_of_new_names(const ObeyedNames& before, const ObeyedNames& now) {
  std::string listed;
  std::size_t count = 0;
  for (const auto& [path, found] : now) {
    const auto known = before.find(path);
    if (known != before.end() && known->second == found) continue;
    if (++count <= kNamedMost) base::append_part(listed, path);
  }
  if (count == 0) return "";
  if (count > kNamedMost) listed += " and " + std::to_string(count - kNamedMost) + " more";
  return "made " + listed + ", which programs of this machine obey: look at " +
         (count == 1 ? "it before you use it" : "them before you use them");
}

}  // namespace sandbox::box
