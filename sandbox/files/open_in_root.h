// Opening by a path that hostile code may be changing at this moment. openat2(2).
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/files/box_files.h"

namespace sandbox::files {

// Opens `path` as a process whose root is `root_fd` would: absolute links and ".." stay inside, and
// the links of procfs to objects elsewhere are refused. `flags` as for open(2), without O_CREAT.
// Invalid with errno when it fails; EAGAIN when something was renamed on the way at every attempt.
base::UniqueFd open_in_root(int root_fd, const std::string& path, int flags);

// Opens `path` as open_in_root() does, but fails with ELOOP where there is a link anywhere on the
// way or at its end.
base::UniqueFd open_without_links(int root_fd, const std::string& path, int flags);

// Opens the entry `name` of a directory, never through a link. With kStay not a mount either.
// Invalid with errno when it fails.
enum class Mounts { kStay, kCross };
base::UniqueFd open_entry(int directory_fd, const std::string& name, int flags, Mounts mounts);

// Opens anew, for real, what an O_PATH descriptor stands for: whatever its name leads to by now.
// Without waiting, neither for a pipe's other end nor for a lease of the box's (fcntl(2)).
base::UniqueFd reopen(int path_fd, int flags);

// Does chmod(2) of exactly what an O_PATH descriptor stands for. Returns false with errno when it
// fails.
bool change_mode(int path_fd, mode_t mode);

// Returns true on procfs, sysfs and the like, whose files act, wait or say what only the kernel
// should.
bool is_kernel_filesystem(int fd);

bool same_file(const struct stat& a, const struct stat& b);
FileState state_of(const struct stat& status);

// Returns the Error that a client is told when a system call on `path` failed. `failure` is its
// errno.
enum class Purpose { kRead, kWrite, kList };
base::Error path_error(const std::string& path, int failure, Purpose purpose);

// Returns kInvalid for what is no regular file, saying what it is and what to do instead.
base::Error not_regular(const std::string& path, mode_t mode, Purpose purpose);
base::Error of_the_kernel(const std::string& path, Purpose purpose);

}  // namespace sandbox::files
