#include "sessions/stored_snapshots.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/fd.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::array<const char*, 2> kLanguages{"python", "javascript"};
// The files of large values go first: without the other one nobody looks for them.
constexpr std::array<const char*, 3> kFilesOfOne{".0", ".1", ""};

base::Result<base::UniqueFd> open_state(const SessionDirectory& files) {
  return base::open_file(AT_FDCWD, files.state(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

std::vector<StoredSnapshot> snapshots_that_end(const SessionDirectory& files, const char* ending) {
  std::vector<StoredSnapshot> all;
  const auto directory = open_state(files);
  if (!directory.ok()) return all;  // nothing was stored yet
  for (const char* language : kLanguages) {
    auto index =
        sandbox::read_snapshot_index(directory.value().get(), std::string(language) + ending);
    if (!index.ok() && index.error().kind == Error::Kind::kNotFound) continue;
    all.push_back({language, std::move(index)});
  }
  return all;
}

base::Status move_files(int directory_fd, const std::string& name, const char* from,
                        const char* to) {
  for (const char* file : kFilesOfOne) {
    const std::string source = name + file + from;
    const std::string target = name + file + to;
    if (::renameat(directory_fd, source.c_str(), directory_fd, target.c_str()) != 0 &&
        errno != ENOENT) {
      return Error::from_errno("rename " + source);
    }
  }
  return base::done();
}

}  // namespace

std::vector<StoredSnapshot> stored_snapshots(const SessionDirectory& files) {
  return snapshots_that_end(files, "");
}

std::vector<StoredSnapshot> snapshots_set_aside(const SessionDirectory& files) {
  return snapshots_that_end(files, sandbox::kSetAsideSnapshot);
}

base::Result<std::vector<std::string>> bring_back_snapshots(const SessionDirectory& files) {
  std::vector<std::string> languages;
  for (const StoredSnapshot& one : snapshots_set_aside(files)) {
    const base::UniqueFd directory = TRY(open_state(files));
    const bool has_other =
        ::faccessat(directory.get(), one.language.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    // A call that was cut short has moved the other one away already.
    if (has_other) TRY(move_files(directory.get(), one.language, "", sandbox::kReplacedSnapshot));
    TRY(move_files(directory.get(), one.language, sandbox::kSetAsideSnapshot, ""));
    (void)::unlinkat(directory.get(), (one.language + ".tries").c_str(), 0);
    languages.push_back(one.language);
  }
  return languages;
}

}  // namespace sessions
