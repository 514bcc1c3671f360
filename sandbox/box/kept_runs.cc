#include "sandbox/box/kept_runs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "sandbox/box_spec.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {

using base::Error;

base::Status KeptRuns::keep(const RunRequest& request) const {
  if (::mkdirat(session_fd_, kKeptRunsPart, 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("mkdir of runs to be started anew");
  }
  const std::string place = std::string(kKeptRunsPart) + "/" + request.run_id;
  const std::string unfinished = place + ".new";
  const auto file = TRY(
      base::open_file(session_fd_, unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  auto kept = base::write_all(file.get(), base::print_json(request_to_json(request)));
  if (kept.ok() && ::renameat(session_fd_, unfinished.c_str(), session_fd_, place.c_str()) != 0) {
    kept = Error::from_errno("keep of a run to be started anew");
  }
  if (!kept.ok()) (void)::unlinkat(session_fd_, unfinished.c_str(), 0);
  return kept;
}

void KeptRuns::forget(const std::string& run_id) const {
  const std::string place = std::string(kKeptRunsPart) + "/" + run_id;
  (void)::unlinkat(session_fd_, place.c_str(), 0);
}

}  // namespace sandbox::box
