#include "sandbox/box/snapshot_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace sandbox::box {

using base::Error;

namespace {

constexpr mode_t kMode = 0600;
constexpr std::size_t kWrittenAtOnce = 256 << 10;
constexpr std::int64_t kSyncedAtOnce = 8 << 20;

}  // namespace

void ByteSum::add(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty() && (pending_size_ > 0 || bytes.size() < pending_.size())) {
    pending_.at(pending_size_++) = bytes.front();
    bytes.remove_prefix(1);
    if (pending_size_ < pending_.size()) continue;
    std::uint64_t word = 0;
    std::memcpy(&word, pending_.data(), sizeof word);
    sum_ = mixed(sum_, word);
    pending_size_ = 0;
  }
  std::uint64_t word = 0;
  for (; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
    std::memcpy(&word, bytes.data(), sizeof word);
    sum_ = mixed(sum_, word);
  }
  if (!bytes.empty()) {
    bytes_ -= static_cast<std::int64_t>(bytes.size());
    add(bytes);  // less than a word
  }
}

std::uint64_t ByteSum::value() const {
  std::uint64_t word = 0;
  std::memcpy(&word, pending_.data(), pending_size_);
  return mixed(mixed(sum_, word), static_cast<std::uint64_t>(bytes_));
}

// Each step can be undone by one who knows the word: no two states become one.
std::uint64_t ByteSum::mixed(std::uint64_t sum, std::uint64_t word) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  return (std::rotl(sum, 29) ^ word) * kOdd;
}

SnapshotFiles::SnapshotFiles(StateDirectory& directory, const std::string& name, Check check)
    : directory_(directory),
      check_(check),
      main_name_(name),
      unfinished_name_(name + ".new"),
      large_names_{name + ".0", name + ".1"},
      aside_(kSetAsideSnapshot),
      tries_name_(name + ".tries") {
  unlink(unfinished_name_);
}

bool SnapshotFiles::is_there() const { return has(main_name_); }

std::string SnapshotFiles::run_id() const { return run_of_snapshot(directory_.fd(), main_name_); }

base::Result<SnapshotFiles::Opened> SnapshotFiles::open() {
  Opened opened;
  given_.clear();
  opened.snapshot = TRY(open_one(main_name_));
  for (int slot = 0; slot < static_cast<int>(kLargeMax); ++slot) {
    auto file = open_one(large_names_.at(static_cast<std::size_t>(slot)));
    if (!file.ok()) continue;  // who needs it says so
    opened.large.push_back(std::move(file).value());
    given_.push_back(slot);
  }
  return opened;
}

void SnapshotFiles::needs(std::int64_t number, std::int64_t place) {
  used_ = {};
  if (number == 0 || place < 0 || place >= static_cast<std::int64_t>(given_.size())) return;
  used_ = {.number = number, .slot = given_.at(static_cast<std::size_t>(place))};
}

std::int64_t SnapshotFiles::needed() const {
  if (used_.slot == kNone) return 0;
  return has(large_names_.at(static_cast<std::size_t>(used_.slot))) ? used_.number : 0;
}

std::int64_t SnapshotFiles::bytes_needed() const {
  return used_.slot == kNone ? 0 : bytes_of(large_names_.at(static_cast<std::size_t>(used_.slot)));
}

base::Status SnapshotFiles::begin() {
  drop();
  TRY(directory_.make());
  main_.file = TRY(make(unfinished_name_));
  return base::done();
}

base::Status SnapshotFiles::begin_large(std::int64_t number) {
  if (number <= 0 || begun_.slot != kNone || !has_begun()) {
    return base::error(Error::Kind::kInvalid, "no large values can begin here");
  }
  const int slot = used_.slot == 0 ? 1 : 0;
  const std::string& name = large_names_.at(static_cast<std::size_t>(slot));
  // It is not needed by the snapshot that is there: a power cut may not bring back one before that.
  if (has(name) && ::fsync(directory_.fd()) != 0) return Error::from_errno("fsync of snapshots");
  begun_ = {.number = number, .slot = slot};
  large_.file = TRY(make(name));
  return base::done();
}

base::Status SnapshotFiles::add(std::string_view bytes, File& to) {
  if (!to.file.valid()) return base::error(Error::Kind::kInvalid, "nothing has begun");
  to.bytes += static_cast<std::int64_t>(bytes.size());
  to.unwritten += bytes;
  return to.unwritten.size() < kWrittenAtOnce ? base::done() : write_out(to);
}

base::Status SnapshotFiles::write_out(File& file) {
  file.sum.add(file.unwritten);
  return base::write_all(file.file.get(), std::exchange(file.unwritten, ""));
}

// Reads it from there, and not from what the kernel has still in memory, as far as it lets that go.
bool SnapshotFiles::is_on_disk(int fd, const ByteSum& sum, const std::stop_token& stop) {
  // A slow disk takes all of it for minutes, and nothing ends an fsync().
  for (std::int64_t at = 0; at < sum.bytes() && !stop.stop_requested(); at += kSyncedAtOnce) {
    const bool is_synced = ::sync_file_range(fd, at, kSyncedAtOnce,
                                             SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                                 SYNC_FILE_RANGE_WAIT_AFTER) == 0;
    // The kernel tells of a page that could not be written once: fsync() would not say it again.
    if (!is_synced && (errno == EIO || errno == ENOSPC || errno == EDQUOT)) return false;
  }
  if (stop.stop_requested() || ::fsync(fd) != 0) return false;
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ByteSum there;
  while (!stop.stop_requested()) {
    const auto piece = base::read_at(fd, there.bytes(), kWrittenAtOnce);
    if (!piece.ok()) return false;
    if (piece.value().empty()) break;
    there.add(piece.value());
  }
  return there.bytes() == sum.bytes() && there.value() == sum.value();
}

void SnapshotFiles::drop() {
  main_ = {};
  large_ = {};
  unlink(unfinished_name_);
  const Large begun = std::exchange(begun_, {});
  if (begun.slot != kNone) unlink(large_names_.at(static_cast<std::size_t>(begun.slot)));
}

base::Result<SnapshotFiles::Put> SnapshotFiles::finish(std::int64_t large) {
  if (!has_begun()) return base::error(Error::Kind::kInvalid, "nothing has begun");
  next_ = {};
  if (large != 0 && large == begun_.number) next_ = begun_;
  if (large != 0 && large == needed()) next_ = used_;
  if (next_.number != large) {
    return base::error(Error::Kind::kInvalid, "the large values that it needs are not there");
  }
  TRY(write_out(main_));
  if (large_.file.valid()) TRY(write_out(large_));
  const auto main = std::make_shared<File>(std::exchange(main_, {}));
  const auto large_file = std::make_shared<File>(std::exchange(large_, {}));
  return Put([this, main, large_file, slot = next_.slot](const std::stop_token& stop) {
    const base::UniqueFd& other_fd = large_file->file;
    if (other_fd.valid() && !is_on_disk(other_fd.get(), large_file->sum, stop)) return false;
    const int fd = main->file.get();
    if (!is_on_disk(fd, main->sum, stop) || !check_(fd).ok()) return false;
    if (stop.stop_requested()) return false;
    if (::renameat(directory_.fd(), unfinished_name_.c_str(), directory_.fd(),
                   main_name_.c_str()) != 0) {
      return false;
    }
    // Large values that are not needed any more go once no power cut leaves the snapshot before.
    for (int other = 0; other < static_cast<int>(kLargeMax); ++other) {
      const std::string& name = large_names_.at(static_cast<std::size_t>(other));
      if (other == slot || !has(name)) continue;
      if (::fsync(directory_.fd()) == 0) unlink(name);
    }
    return true;
  });
}

void SnapshotFiles::finished(bool is_there) {
  if (!is_there) return drop();
  begun_ = {};
  used_ = next_;
}

void SnapshotFiles::remove() {
  drop();
  unlink(main_name_);
  for (const std::string& name : large_names_) unlink(name);
  used_ = {};
}

void SnapshotFiles::forget() {
  remove();
  for (const std::string& name : {main_name_, large_names_[0], large_names_[1]}) {
    unlink(name + aside_);
  }
  set_tries(0);
}

void SnapshotFiles::set_aside() {
  drop();
  for (const std::string& name : {main_name_, large_names_[0], large_names_[1]}) {
    (void)::renameat(directory_.fd(), name.c_str(), directory_.fd(), (name + aside_).c_str());
  }
  used_ = {};
  set_tries(0);
}

int SnapshotFiles::tries() const {
  struct stat found {};
  if (::fstatat(directory_.fd(), tries_name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<int>(found.st_size);
}

void SnapshotFiles::set_tries(int tries) const {
  unlink(tries_name_);
  if (tries <= 0) return;  // somebody may have removed the count meanwhile
  const auto file = make(tries_name_);
  if (file.ok())
    (void)base::write_all(file.value().get(), std::string(static_cast<std::size_t>(tries), '.'));
}

// In the place of what has that name: who has that open, or mapped, goes on with it.
base::Result<base::UniqueFd> SnapshotFiles::make(const std::string& name) const {
  unlink(name);
  return base::open_file(directory_.fd(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, kMode);
}

// An interpreter before may have changed its mode: of an ordinary user's box it is its own.
base::Result<base::UniqueFd> SnapshotFiles::open_one(const std::string& name) const {
  (void)!::fchmodat(directory_.fd(), name.c_str(), kMode, 0);
  return base::open_file(directory_.fd(), name, O_RDONLY | O_NOFOLLOW);
}

bool SnapshotFiles::has(const std::string& name) const {
  struct stat found {};
  return ::fstatat(directory_.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
}

std::int64_t SnapshotFiles::bytes_of(const std::string& name) const {
  struct stat found {};
  const bool is_there = ::fstatat(directory_.fd(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0;
  return is_there ? found.st_size : 0;
}

void SnapshotFiles::unlink(const std::string& name) const {
  (void)::unlinkat(directory_.fd(), name.c_str(), 0);
}

}  // namespace sandbox::box
