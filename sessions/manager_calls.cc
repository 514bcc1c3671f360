// What an API is to know of a run besides: kept beside its session's files, out of the box, until
// the session is deleted.
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "sandbox/base/random_id.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::size_t kCallBytesMax = std::size_t{4} << 20;

}  // namespace

base::Status Manager::keep_call(const Session& session, const std::string& run_id,
                                const std::string& text) const {
  const std::string directory = directory_of(session.id) + "/calls";
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make a place for calls");
  }
  const std::string partial = directory + "/." + run_id;
  {
    const base::UniqueFd file =
        TRY(base::open_file(AT_FDCWD, partial, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
    TRY(base::write_all(file.get(), text));
  }
  if (::rename(partial.c_str(), (directory + "/" + run_id).c_str()) != 0) {
    return Error::from_errno("keep a call");
  }
  return base::done();
}

base::Result<std::string> Manager::call_of(const std::string& session_id,
                                           const std::string& run_id) const {
  if (!base::is_short_id(run_id, "run_")) {
    return base::error(Error::Kind::kNotFound, "no such run");
  }
  const base::UniqueFd file = TRY(base::open_file(
      AT_FDCWD, directory_of(session_id) + "/calls/" + run_id, O_RDONLY | O_NOFOLLOW));
  return base::read_all(file.get(), kCallBytesMax);
}

}  // namespace sessions
