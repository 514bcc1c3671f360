#include "sessions/stored_snapshots.h"

#include <fcntl.h>

#include <array>
#include <utility>

#include "base/fd.h"
#include "sessions/session_directory.h"

namespace sessions {

using base::Error;

namespace {

constexpr std::array<const char*, 2> kLanguages{"python", "javascript"};

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

}  // namespace

std::vector<StoredSnapshot> stored_snapshots(const SessionDirectory& files) {
  return snapshots_that_end(files, "");
}

std::vector<StoredSnapshot> snapshots_set_aside(const SessionDirectory& files) {
  return snapshots_that_end(files, sandbox::kSetAsideSnapshot);
}

}  // namespace sessions
