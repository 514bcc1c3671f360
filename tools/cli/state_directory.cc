// The directories that hutch keeps its state in are open to their owner alone.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "sessions/session_directory.h"
#include "sessions/store.h"
#include "tools/cli/settings.h"

namespace tools::cli {

using base::Error;

namespace {

// Returns whether the directory may be made ours alone: others may use what holds something else.
bool is_ours(const std::string& path) {
  std::error_code failure;
  return std::filesystem::exists(sessions::database_in(path), failure) ||
         std::filesystem::is_empty(path, failure);
}

base::Status make_private_directory(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    if (::mkdir(path.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST) {
      return Error::from_errno("make " + path.substr(0, slash));
    }
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return Error::from_errno("make " + path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return Error::from_errno("stat " + path);
  // In /tmp anybody could have put it there before us.
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return base::error(Error::Kind::kInvalid, path + " is not a directory of this user");
  }
  if ((status.st_mode & 077) == 0) return base::done();
  if (!is_ours(path)) {
    return base::error(Error::Kind::kInvalid,
                       path +
                           " holds something else and is open to others: name a directory of "
                           "its own with --state-dir, which will be private");
  }
  if (::chmod(path.c_str(), 0700) != 0) return Error::from_errno("chmod " + path);
  return base::done();
}

}  // namespace

base::Status make_directories(const Settings& settings) {
  TRY(make_private_directory(settings.state_directory));
  TRY(make_private_directory(sessions::egress_directory(settings.state_directory)));
  return make_private_directory(settings.zygote_directory);
}

}  // namespace tools::cli
