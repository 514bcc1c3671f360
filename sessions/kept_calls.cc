#include "sessions/kept_calls.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/random_id.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::size_t kCallBytesMax = std::size_t{4} << 20;

}  // namespace

base::Status KeptCalls::keep(const std::string& session_id, const std::string& run_id,
                             const std::string& text) const {
  const std::string directory = SessionDirectory(state_directory_, session_id).calls();
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

base::Result<std::string> KeptCalls::find(const std::string& session_id,
                                          const std::string& run_id) const {
  if (!base::is_short_id(run_id, "run_")) {
    return base::error(Error::Kind::kNotFound, "no such run");
  }
  const std::string path = SessionDirectory(state_directory_, session_id).calls() + "/" + run_id;
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW));
  return base::read_all(file.get(), kCallBytesMax);
}

}  // namespace sessions
