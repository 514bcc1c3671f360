#include "base/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/fd.h"

namespace base {

namespace {

constexpr std::size_t kFileBytesMax = 2 << 20;

// In a file of its own until it is whole. `keep`: what somebody else has put there goes before.
Status put(const std::string& path, const std::string& content, bool keep) {
  std::string made = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(made.data(), O_CLOEXEC));  // 0600
  if (!file.valid()) return Error::from_errno("make " + path);
  Status written = write_all(file.get(), content);
  if (written.ok() && ::fsync(file.get()) != 0) written = Error::from_errno("write " + path);
  if (written.ok() && !keep && ::fchmod(file.get(), 0644) != 0) {
    written = Error::from_errno("chmod " + path);
  }
  const int result = !written.ok() ? 0
                     : keep        ? ::link(made.c_str(), path.c_str())
                                   : ::rename(made.c_str(), path.c_str());
  const int why = errno;
  (void)::unlink(made.c_str());
  if (!written.ok() || result == 0 || (keep && why == EEXIST)) return written;
  errno = why;
  return Error::from_errno("put " + path);
}

}  // namespace

Result<std::string> content_of_file(const std::string& path) {
  const UniqueFd file = TRY(open_file(AT_FDCWD, path, O_RDONLY));
  return read_all(file.get(), kFileBytesMax);
}

Result<std::string> private_file(const std::string& path,
                                 const std::function<Result<std::string>()>& make) {
  if (::access(path.c_str(), F_OK) != 0) {
    const std::string made = TRY(make());
    TRY(put(path, made, true));
  }
  return content_of_file(path);
}

Status keep_public_file(const std::string& path, const std::string& content) {
  const auto present = content_of_file(path);
  if (present.ok() && present.value() == content) return done();
  return put(path, content, false);
}

}  // namespace base
