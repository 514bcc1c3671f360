#include "sessions/session_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/session_contents.h"
#include "sandbox/snapshot_index.h"

namespace sessions {

using base::Error;
using sandbox::PathRules;

namespace {

base::Result<base::UniqueFd> open_workspace(const SessionDirectory& files) {
  return base::open_file(AT_FDCWD, files.workspace(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
}

std::optional<std::uint32_t> uid_of(const Session& session) {
  if (!session.host_uid) return std::nullopt;
  return static_cast<std::uint32_t>(*session.host_uid);
}

// Returns whether it was not there.
base::Result<bool> make_directory(const std::string& path,
                                  const std::optional<std::int64_t>& owner) {
  const bool is_new = ::mkdir(path.c_str(), owner ? 0700 : 0755) == 0;
  if (!is_new && errno != EEXIST) {
    return Error::from_errno("make " + path, Error::Kind::kUnavailable);
  }
  // Again after a kill between the two: what was there before has its owner already.
  if (owner &&
      ::lchown(path.c_str(), static_cast<uid_t>(*owner), static_cast<gid_t>(*owner)) != 0) {
    return Error::from_errno("chown " + path);
  }
  return is_new;
}

// npm lists what is below its prefix (npm_config_prefix, sandbox/box/run_environment.cc) before
// each npx, and wants it to be there. What else the code has put at its place is the code's affair,
// and a full disk costs no box.
void make_prefix_of_npm(const std::string& home, const Session& session, bool is_new) {
  if (is_new) {  // no code has put anything there
    for (const char* name : {"/.local", "/.local/lib"}) {
      (void)make_directory(home + name, session.host_uid);
    }
    return;
  }
  auto opened = base::open_file(AT_FDCWD, home, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!opened.ok()) return;
  const sandbox::files::BoxFiles files(std::move(opened).value(), uid_of(session));
  (void)files.make_directories("/.local/lib");
}

}  // namespace

base::Result<bool> SessionDirectory::make_parts(const Session& session) const {
  bool are_new = true;
  for (const char* name : sandbox::kPartsOfCode) {
    const bool is_new = TRY(make_directory(part(name), session.host_uid));
    are_new = are_new && is_new;
  }
  const bool runs_are_new = TRY(make_directory(runs(), std::nullopt));
  are_new = are_new && runs_are_new;
  make_prefix_of_npm(part(sandbox::kHomePart), session, are_new);
  TRY(make_ruled(session));
  return are_new;
}

// With what was set aside, since nobody could read it.
std::vector<std::string> SessionDirectory::stored_files() const {
  const std::string state = this->state();
  std::vector<std::string> files;
  for (const char* copy : sandbox::kShellCopies) files.push_back(state + "/" + copy);
  for (const char* name : {sandbox::kUnfinishedShell, sandbox::kRestsFile}) {
    files.push_back(state + "/" + name);
  }
  for (const char* language : {"/python", "/javascript"}) {
    for (const char* kind : {".new", ".tries"}) files.push_back(state + language + kind);
    for (const char* kind : {"", ".0", ".1"}) {
      for (const char* end : {"", sandbox::kSetAsideSnapshot})
        files.push_back(state + language + kind + end);
    }
  }
  return files;
}

bool SessionDirectory::has_in_state(std::initializer_list<const char*> names) const {
  return std::any_of(names.begin(), names.end(), [this](const char* name) {
    struct stat found {};
    return ::lstat((state() + "/" + name).c_str(), &found) == 0;
  });
}

bool SessionDirectory::is_stored() const {
  return stores_variables() ||
         has_in_state({sandbox::kShellCopies[0], sandbox::kShellCopies[1], sandbox::kRestsFile});
}

std::int64_t SessionDirectory::stored_bytes() const {
  std::int64_t bytes = 0;
  for (const std::string& file : stored_files()) {
    struct stat found {};
    if (::lstat(file.c_str(), &found) == 0) bytes += found.st_size;
  }
  return bytes;
}

bool SessionDirectory::stores_variables() const { return has_in_state({"python", "javascript"}); }

bool SessionDirectory::stores_shell() const {
  const auto directory = base::open_file(AT_FDCWD, state(), O_PATH | O_DIRECTORY | O_NOFOLLOW);
  return directory.ok() && sandbox::files::holds_shell_state(directory.value().get());
}

base::Result<bool> SessionDirectory::forget_state() const {
  bool was_there = false;
  for (const std::string& file : stored_files()) {
    if (::unlink(file.c_str()) == 0) {
      was_there = true;
    } else if (errno != ENOENT) {
      return Error::from_errno("unlink of stored state");
    }
  }
  return was_there;
}

base::Status SessionDirectory::make_ruled(const Session& session) const {
  const PathRules& rules = session.paths;
  if (rules.empty()) return base::done();
  const sandbox::files::BoxFiles files(TRY(open_workspace(*this)), uid_of(session));
  for (const auto* paths : {&rules.read_only, &rules.read_write, &rules.blocked}) {
    for (const std::string& path : *paths) {
      if (!path.starts_with(sandbox::kBelowWorkspace)) continue;
      TRY(files.make_directories(path.substr(sandbox::kBelowWorkspace.size() - 1)));
    }
  }
  return base::done();
}

base::Result<std::optional<SessionDirectory::BehindRule>> SessionDirectory::behind_rule(
    const Session& session, const std::string& path) const {
  if (session.paths.read_only.empty()) return std::optional<BehindRule>();
  const base::UniqueFd top = TRY(base::open_file(AT_FDCWD, path_, O_PATH | O_DIRECTORY));
  const std::string whole =
      TRY(sandbox::files::resolve_path(top.get(), path, session.working_directory));
  // The parent of where a link leads is known to the box alone.
  if ((whole + "/").find("/../") != std::string::npos) return std::optional<BehindRule>();
  for (const std::string& rule : session.paths.read_only) {
    if (whole != rule && !whole.starts_with(rule + "/")) continue;
    auto opened = TRY(open_workspace(*this));
    BehindRule behind{std::move(opened), whole.substr(sandbox::kBelowWorkspace.size() - 1)};
    return std::optional<BehindRule>(std::move(behind));
  }
  return std::optional<BehindRule>();
}

}  // namespace sessions
