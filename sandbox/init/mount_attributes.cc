// mount_setattr(2), and for Linux before 5.12 mount(2) with MS_REMOUNT | MS_BIND;
// proc_pid_mountinfo(5).
#include "sandbox/init/mount_attributes.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace sandbox::init {
namespace {

int set_on(int directory, const char* path, unsigned flags, const MountAttributes& attributes) {
  mount_attr attr{};
  attr.attr_set = attributes.set;
  if (attributes.alone) attr.propagation = MS_PRIVATE;
  return ::mount_setattr(directory, path, flags, &attr, sizeof attr);
}

// mount(2) sets all anew: what is set stays so, also because it may be locked
// (mount_namespaces(7)).
int remount(const char* path, const MountAttributes& attributes) {
  struct statvfs now {};
  if (::statvfs(path, &now) != 0) return -1;
  constexpr struct {
    unsigned long status;
    unsigned long long attribute;
    unsigned long flag;
  } kKinds[] = {{ST_RDONLY, MOUNT_ATTR_RDONLY, MS_RDONLY},
                {ST_NOSUID, MOUNT_ATTR_NOSUID, MS_NOSUID},
                {ST_NODEV, MOUNT_ATTR_NODEV, MS_NODEV},
                {ST_NOEXEC, MOUNT_ATTR_NOEXEC, MS_NOEXEC}};
  unsigned long flags = MS_REMOUNT | MS_BIND;
  for (const auto& kind : kKinds) {
    if ((now.f_flag & kind.status) != 0 || (attributes.set & kind.attribute) != 0) {
      flags |= kind.flag;
    }
  }
  if (::mount(nullptr, path, nullptr, flags, nullptr) != 0) return -1;
  return attributes.alone ? ::mount(nullptr, path, nullptr, MS_PRIVATE, nullptr) : 0;
}

// In place: \040 is a blank, as other bytes that part fields.
void unescape(char* text) {
  char* to = text;
  for (const char* from = text; *from != '\0'; ++to) {
    if (from[0] == '\\' && from[1] != '\0' && from[2] != '\0' && from[3] != '\0') {
      *to = static_cast<char>((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 4;
    } else {
      *to = *from++;
    }
  }
  *to = '\0';
}

// Where the mount of a line of mountinfo is; its fifth field.
char* mount_point_of(char* line) {
  char* rest = line;
  char* field = nullptr;
  for (int i = 0; i < 5; ++i) field = ::strsep(&rest, " ");
  if (field != nullptr) unescape(field);
  return field;
}

// Reads a file a line at a time, since a whole copy of it has no place. next() returns null at the
// end or with an error.
class Lines {
 public:
  explicit Lines(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) error_ = errno;
  }
  ~Lines() {
    if (fd_ >= 0) (void)::close(fd_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  char* next() {
    while (error_ == 0) {
      if (char* const end = find('\n'); end != nullptr) {
        char* const line = text_ + begin_;
        *end = '\0';
        begin_ += static_cast<std::size_t>(end - line) + 1;
        return line;
      }
      std::memmove(text_, text_ + begin_, end_ -= begin_);
      begin_ = 0;
      const ssize_t size = ::read(fd_, text_ + end_, sizeof text_ - end_);
      if (size < 0) error_ = errno;
      if (size <= 0) break;
      end_ += static_cast<std::size_t>(size);
    }
    if (error_ == 0 && end_ > 0) error_ = EMSGSIZE;  // a line that is longer than what holds it
    return nullptr;
  }
  [[nodiscard]] int error() const { return error_; }

 private:
  char* find(char letter) {
    return static_cast<char*>(std::memchr(text_ + begin_, letter, end_ - begin_));
  }

  const int fd_;
  int error_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  char text_[8 * PATH_MAX];  // a line has two paths, and four characters for a byte at most
};

int remount_below(const char* top, const MountAttributes& attributes) {
  const std::size_t size = std::strlen(top);
  Lines lines("/proc/self/mountinfo");
  while (char* const line = lines.next()) {
    const char* const point = mount_point_of(line);
    if (point == nullptr || std::strncmp(point, top, size) != 0 || point[size] != '/') continue;
    if (remount(point, attributes) != 0) return -1;
  }
  errno = lines.error();
  return errno == 0 ? 0 : -1;
}

}  // namespace

int attach_mount(int mount_fd, int directory, const char* target, unsigned flags,
                 const MountAttributes& attributes) {
  const unsigned reach = AT_EMPTY_PATH | (attributes.recursive ? AT_RECURSIVE : 0U);
  const bool set =
      (attributes.set == 0 && !attributes.alone) || set_on(mount_fd, "", reach, attributes) == 0;
  if (!set && errno != ENOSYS) return -1;
  if (::move_mount(mount_fd, "", directory, target, MOVE_MOUNT_F_EMPTY_PATH | flags) != 0) {
    return -1;
  }
  if (set) return 0;
  char link[64];
  (void)std::snprintf(link, sizeof link, "/proc/self/fd/%d", mount_fd);
  if (remount(link, attributes) != 0) return -1;
  if (!attributes.recursive) return 0;
  char top[PATH_MAX];
  const ssize_t size = ::readlink(link, top, sizeof top - 1);
  if (size < 0) return -1;
  top[size] = '\0';
  return remount_below(top, attributes);
}

int set_mount_attributes(const char* path, const MountAttributes& attributes) {
  if (set_on(AT_FDCWD, path, 0, attributes) == 0) return 0;
  return errno == ENOSYS ? remount(path, attributes) : -1;
}

}  // namespace sandbox::init
