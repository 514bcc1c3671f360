#include "tools/api/e2b/tree_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/draft.h"
#include "sandbox/files/box_path.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/files/tree_walk.h"

namespace tools::api::e2b {

using base::Error;
using sandbox::files::DirectoryEvent;
using sandbox::files::DirectoryWatch;
using EventKind = DirectoryEvent::Kind;

namespace {

constexpr int kRoundsMost = 16;  // in one take(): code may write faster than this looks

bool is_file_with_content(int directory_fd, const char* name) {
  struct stat status {};
  return ::fstatat(directory_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode) && status.st_size > 0;
}

// Returns the name of what an event has shown: where that is no UTF-8, it was shown escaped.
std::string name_there(int top, const std::string& shown) {
  if (shown.find("\\x") == std::string::npos) return shown;
  const bool is_plain = sandbox::files::open_without_links(top, shown, O_PATH).valid();
  return is_plain ? shown : sandbox::files::path_as_listed(shown, "").substr(1);
}

bool has_content(int top, const std::string& shown) {
  const base::UniqueFd there =
      sandbox::files::open_without_links(top, name_there(top, shown), O_PATH);
  struct stat status {};
  return there.valid() && ::fstat(there.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_size > 0;
}

Error too_many() {
  return base::error(Error::Kind::kLimit, "more came than could be looked through: watch anew");
}

}  // namespace

base::Result<std::unique_ptr<TreeWatch>> TreeWatch::start(int root_fd, const std::string& path,
                                                          Depth depth) {
  auto watch = TRY(DirectoryWatch::start(root_fd, path, depth));
  const std::string resolved = TRY(sandbox::files::resolve_path(root_fd, path));
  base::UniqueFd top = sandbox::files::open_in_root(root_fd, resolved, O_PATH | O_DIRECTORY);
  if (!top.valid()) {
    return sandbox::files::path_error(resolved, errno, sandbox::files::Purpose::kList);
  }
  return std::unique_ptr<TreeWatch>(new TreeWatch(std::move(watch), std::move(top), depth));
}

base::Result<TreeWatch::Events> TreeWatch::take() {
  if (depth_ == Depth::kOne) return watch_->take();
  Events events;
  Found found;
  for (int round = 0; round < kRoundsMost; ++round) {
    const Events batch = TRY(watch_->take());
    TRY(tell(batch, found, events));
    // An entry that was found may have come after its directory was watched: then its own event
    // waits, and is not told again. Whoever reads these events looks at the files afterwards.
    if (batch.empty() || found.told.empty()) break;
  }
  return events;
}

base::Status TreeWatch::tell(const Events& batch, Found& found, Events& events) const {
  Places last_come;
  for (std::size_t at = 0; at < batch.size(); ++at) {
    if (batch[at].kind == EventKind::kCreate) last_come[batch[at].name] = at;
  }
  for (std::size_t at = 0; at < batch.size(); ++at) {
    DirectoryEvent event = batch[at];
    const bool has_come = event.kind == EventKind::kCreate && last_come[event.name] == at;
    if (is_news(event, found)) events.push_back(event);
    if (has_come) TRY(look_into(event.name, at, last_come, found, events));
  }
  return base::done();
}

bool TreeWatch::is_news(DirectoryEvent& event, Found& found) const {
  const auto known = found.told.find(event.name);
  if (known == found.told.end() || event.kind == EventKind::kChmod) return true;
  if (event.kind == EventKind::kRemove || event.kind == EventKind::kRename) {
    found.told.erase(known);
    return true;
  }
  if (known->second) return false;
  if (event.kind == EventKind::kCreate) {
    // It may be another file, that was moved there meanwhile.
    if (!has_content(top_.get(), event.name)) return false;
    event.kind = EventKind::kWrite;
  }
  known->second = true;
  return true;
}

// Tells what is in a directory that came with the event `at`. Not by recursion: a tree may be as
// deep as the code likes.
base::Status TreeWatch::look_into(const std::string& name, std::size_t at, const Places& last_come,
                                  Found& found, Events& events) const {
  std::vector<std::string> waiting{name_there(top_.get(), name)};
  while (!waiting.empty()) {
    const std::string above = std::move(waiting.back());
    waiting.pop_back();
    // No directory, or one that has gone meanwhile or is closed to us: nothing of it is told.
    const base::UniqueFd directory =
        sandbox::files::open_without_links(top_.get(), above, O_PATH | O_DIRECTORY);
    if (!directory.valid()) continue;
    sandbox::files::DirectoryReader entries(directory.get());
    while (const dirent* entry = entries.valid() ? entries.next() : nullptr) {
      const std::string_view own = entry->d_name;
      if (own.starts_with(base::Draft::kNamePrefix)) continue;
      std::string below = above + "/" + std::string(own);
      const std::string shown = sandbox::files::shown_path(below);
      const auto comes = last_come.find(shown);
      // One with an event of its own that is yet to be told is told of by that.
      if (comes != last_come.end() && comes->second > at) continue;
      const bool is_written = is_file_with_content(directory.get(), entry->d_name);
      if (!found.told.emplace(shown, is_written).second) continue;
      found.bytes += shown.size();
      if (found.told.size() > kFoundMost || found.bytes > kFoundBytesMost) return too_many();
      events.push_back({shown, EventKind::kCreate});
      if (is_written) events.push_back({shown, EventKind::kWrite});
      if (entry->d_type == DT_DIR) waiting.push_back(std::move(below));
    }
  }
  return base::done();
}

}  // namespace tools::api::e2b
