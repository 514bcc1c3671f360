#include "sandbox/box/covers.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {
namespace {

using wire::PlanOp;

base::Status cover(PlanWriter& plan, PlanOp op, int workspace, const std::string& path) {
  const std::string name = base::name_of_path(path);
  struct stat status {};
  if (::fstatat(workspace, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return base::Error::from_errno("look at " + path, base::Error::Kind::kInvalid);
  }
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
    return base::invalid(path + " is neither a directory nor a file: nothing can cover it");
  }
  plan.add(op, {kWorkspace, name, std::to_string(status.st_dev), std::to_string(status.st_ino)});
  return base::done();
}

}  // namespace

base::Status add_covers(PlanWriter& plan, const BoxSpec& spec) {
  if (spec.paths.empty()) return base::done();
  const base::UniqueFd workspace =
      TRY(base::open_file(AT_FDCWD, session_part(spec.session_directory, kWorkspacePart),
                          O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  for (const std::string& path : spec.paths.read_only) {
    TRY(cover(plan, PlanOp::kProtect, workspace.get(), path));
  }
  for (const std::string& path : spec.paths.blocked) {
    if (path.starts_with(kBelowWorkspace)) {
      TRY(cover(plan, PlanOp::kBlock, workspace.get(), path));
    } else {
      plan.add(PlanOp::kMask, {path});
    }
  }
  return base::done();
}

}  // namespace sandbox::box
