#include "sandbox/box/kept_outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace sandbox::box {
namespace {

constexpr std::int64_t kBlockBytes = 512;  // the unit of st_blocks, see inode(7)
// Stays at both ends of a stream: more than a client is shown without asking for the file.
constexpr std::int64_t kEndBytes = 32 << 10;

base::UniqueFd open_directory(int parent, const char* name) {
  return base::UniqueFd(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

std::int64_t bytes_of_run(int run_fd) {
  std::int64_t bytes = 0;
  for (const std::string& name : base::names_in(run_fd)) {
    struct stat status {};
    if (::fstatat(run_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    bytes += status.st_blocks * kBlockBytes;
  }
  return bytes;
}

// The size stays, so that offsets into the stream mean what they meant.
void drop_middle(int run_fd, const char* stream) {
  const base::UniqueFd file(
      ::openat(run_fd, stream, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return;
  const std::int64_t bytes = status.st_size - 2 * kEndBytes;
  if (bytes <= 0) return;
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kEndBytes, bytes) != 0) {
    (void)!::ftruncate(file.get(), kEndBytes);  // a file system without holes
    return;
  }
  const std::string why = "\n[" + std::to_string(bytes) +
                          " bytes were dropped here: the outputs of this session's runs together "
                          "are kept up to disk_mb]\n";
  const auto room = static_cast<std::size_t>(bytes);
  (void)!::pwrite(file.get(), why.data(), std::min(why.size(), room), kEndBytes);
}

void make_small(int run_fd) {
  for (const char* stream : {"stdout", "stderr"}) drop_middle(run_fd, stream);
  for (const std::string& name : base::names_in(run_fd)) {
    if (name != "stdout" && name != "stderr" && name != "record.json") {
      (void)::unlinkat(run_fd, name.c_str(), 0);
    }
  }
}

}  // namespace

void KeptOutputs::add(const std::string& run_id) {
  if (!std::exchange(found_earlier_, true)) find_earlier(run_id);
  // The first of several runs that end at once finds the others, which have their records.
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&run_id](const Kept& kept) { return kept.run_id == run_id; });
  if (known != kept_.end()) {
    std::rotate(known, known + 1, kept_.end());  // it is the newest
    return;
  }
  const base::UniqueFd run = open_directory(runs_fd_, run_id.c_str());
  if (!run.valid()) return;
  kept_.push_back({run_id, bytes_of_run(run.get())});
  bytes_ += kept_.back().bytes;
  make_room();
}

void KeptOutputs::grew(const std::string& run_id, std::int64_t bytes) {
  auto run = std::find_if(kept_.rbegin(), kept_.rend(),
                          [&run_id](const Kept& kept) { return kept.run_id == run_id; });
  if (run == kept_.rend()) {  // made small before: it has something to give again
    kept_.push_back({run_id, 0});
    run = kept_.rbegin();
  }
  run->bytes += bytes;
  bytes_ += bytes;
  make_room();
}

void KeptOutputs::make_room() {
  // The newest stays as it is: its client is about to read it.
  while (bytes_ > bytes_max_ && kept_.size() > 1) {
    const Kept oldest = std::move(kept_.front());
    kept_.pop_front();
    bytes_ -= oldest.bytes;
    const base::UniqueFd old = open_directory(runs_fd_, oldest.run_id.c_str());
    if (!old.valid()) continue;
    const std::int64_t before = bytes_of_run(old.get());
    make_small(old.get());
    const std::int64_t dropped = before - bytes_of_run(old.get());
    if (dropped > 0) uncounted_ = {uncounted_.runs + 1, uncounted_.bytes + dropped};
  }
  if (uncounted_.runs > 0 && add_dropped_outputs(session_fd_, uncounted_)) uncounted_ = {};
}

void KeptOutputs::find_earlier(const std::string& than) {
  std::vector<std::pair<std::int64_t, Kept>> found;
  for (std::string& name : base::names_in(runs_fd_)) {
    if (name == than) continue;
    const base::UniqueFd run = open_directory(runs_fd_, name.c_str());
    struct stat record {};
    // Without a record it is still going on, and adds itself.
    if (!run.valid() || ::fstatat(run.get(), "record.json", &record, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    found.push_back({record.st_mtim.tv_sec, {std::move(name), bytes_of_run(run.get())}});
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [time, kept] : found) {
    bytes_ += kept.bytes;
    kept_.push_back(std::move(kept));
  }
}

}  // namespace sandbox::box
