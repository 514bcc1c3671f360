#include "share/file_share.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/digest.h"
#include "base/random_id.h"
#include "base/text.h"
#include "base/utf8.h"
#include "sessions/share_table.h"
#include "sessions/upkeep_table.h"
#include "share/host_room.h"
#include "share/mime.h"
#include "share/share_folder.h"
#include "share/share_room.h"

namespace share {

using base::Error;

namespace {

constexpr std::size_t kCopyBytes = 256 * 1024;
constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kExtensionBytesMax = 20;  // a longer one is no extension
// A copy takes seconds; a directory without a row for this long belongs to a dead server.
constexpr std::int64_t kOrphanMs = 3'600'000;
// One that was whole was a share: its server died as it took it back, or the database is another.
constexpr std::int64_t kWholeOrphanMs = 30LL * 86'400'000;
constexpr const char* kPartial = ".partial";

struct Copied {
  std::int64_t bytes = 0;
  std::string sha256;
  std::string beginning;
};

// The limit holds for what is read, not for what stat() said: the file may be growing.
base::Result<Copied> copy(int source_fd, int target_fd) {
  Copied copied;
  base::Sha256 hash;
  while (true) {
    const std::string piece = TRY(base::read_at(source_fd, copied.bytes, kCopyBytes));
    if (piece.empty()) break;
    copied.bytes += static_cast<std::int64_t>(piece.size());
    if (copied.bytes > kShareBytesMax) {
      return base::error(Error::Kind::kLimit,
                         "larger than 100 MiB, the most that can be shared: compress or split it");
    }
    TRY(base::write_all(target_fd, piece));
    hash.add(piece);
    if (copied.beginning.size() < kCopyBytes) copied.beginning += piece;
  }
  copied.sha256 = base::in_hex(TRY(hash.finish()));
  return copied;
}

void remove_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT: a DIR of our own
    (void)::unlinkat(::dirfd(directory.get()), entry->d_name, 0);
  }
  (void)::rmdir(path.c_str());
}

bool holds_a_whole_copy(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
  if (!directory) return true;
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT: a DIR of our own
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != kPartial) return true;
  }
  return false;
}

// How many bytes the first character has when it is none for a name, else 0.
std::size_t unseemly_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f || byte(0) == '\\') return 1;
  if (byte(0) == 0xc2 && byte(1) < 0xa0) return 2;   // U+0080 to U+009F: control characters
  if (byte(0) == 0xd8 && byte(1) == 0x9c) return 2;  // U+061C: direction
  if (byte(0) == 0xe2 && byte(1) == 0x80) {
    const bool turns = byte(2) == 0x8e || byte(2) == 0x8f;         // U+200E, U+200F
    return turns || (byte(2) >= 0xa8 && byte(2) <= 0xae) ? 3 : 0;  // U+2028 to U+202E
  }
  const bool isolates = byte(0) == 0xe2 && byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9;
  return isolates ? 3 : 0;  // U+2066 to U+2069
}

}  // namespace

std::string safe_filename(const std::string& wanted) {
  std::string_view rest = wanted;
  rest.remove_prefix(rest.find_last_of('/') + 1);
  std::string name;
  while (!rest.empty()) {
    const std::size_t unseemly = unseemly_bytes(rest);
    name += unseemly > 0 ? '_' : rest.front();
    rest.remove_prefix(std::max<std::size_t>(unseemly, 1));
  }
  if (name.starts_with('.') || name.starts_with('-')) name[0] = '_';
  if (name.size() > kNameBytesMax) {
    const std::size_t dot = extension_at(name);
    const std::string extension = name.size() - dot < kExtensionBytesMax ? name.substr(dot) : "";
    std::size_t end = kNameBytesMax - extension.size();
    while (end > 0 && base::continues_character(name[end])) --end;
    name = name.substr(0, end) + extension;
  }
  return name.empty() ? "file" : name;
}

base::Result<FileShare> FileShare::open(const std::string& directory, sessions::ShareTable& shares,
                                        sessions::UpkeepTable& upkeep) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + directory);
  }
  return FileShare(directory, shares, upkeep);
}

std::string FileShare::stored_path(const sessions::Share& share) const {
  return directory_ + "/" + share.id + "/" + share.filename;
}

base::Result<base::UniqueFd> FileShare::open_stored(const sessions::Share& share) const {
  return base::open_file(AT_FDCWD, stored_path(share), O_RDONLY | O_NOFOLLOW);
}

// A file that grows meanwhile is copied up to kShareBytesMax.
base::Status FileShare::check_room(int source_fd, const std::string& principal_id) const {
  struct stat source {};
  if (::fstat(source_fd, &source) != 0) return Error::from_errno("fstat");
  const std::int64_t bytes = std::min<std::int64_t>(source.st_size, kShareBytesMax);
  struct statvfs disk {};
  if (::statvfs(directory_.c_str(), &disk) != 0) return Error::from_errno("statvfs");
  const sessions::Shared shared = TRY(shares_->shared_by(principal_id, kSharesMax));
  const auto disk_bytes = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize);
  TRY(check_share_room(shared, bytes, disk_bytes));
  return check_host_room(directory_, bytes, "a copy of the file");
}

base::Result<sessions::Share> FileShare::publish(int source_fd,
                                                 const PublishRequest& request) const {
  sessions::Share share;
  share.id = base::random_id("share_");
  share.session_id = request.session_id;
  share.principal_id = request.principal_id;
  share.source_path = request.source_path;
  share.filename = safe_filename(request.filename.empty() ? request.source_path : request.filename);
  share.created_at = base::now_ms();
  share.expires_at = share.created_at + request.expires_in_seconds * 1000;
  TRY(check_room(source_fd, request.principal_id));
  const std::string home = directory_ + "/" + share.id;
  // The client may be on another machine: what it is told of a failure names no path of this one.
  if (::mkdir(home.c_str(), 0700) != 0) return Error::from_errno("make a place for the copy");
  const auto made = [&]() -> base::Status {
    const std::string partial = home + "/" + kPartial;
    const base::UniqueFd target(
        ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target.valid()) return Error::from_errno("make the copy");
    const Copied copied = TRY(copy(source_fd, target.get()));
    share.bytes = copied.bytes;
    share.sha256 = copied.sha256;
    share.mime_type = mime_type_of(copied.beginning, share.filename);
    if (::fsync(target.get()) != 0) return Error::from_errno("fsync");
    if (::rename(partial.c_str(), stored_path(share).c_str()) != 0)
      return Error::from_errno("rename");
    return shares_->insert(share);
  }();
  if (!made.ok()) {
    remove_directory(home);
    return made.error();
  }
  return share;
}

base::Status FileShare::revoke(const std::string& principal_id, const std::string& id) const {
  // The row first: what is listed must have its file.
  TRY(shares_->revoke(principal_id, id));
  remove_directory(directory_ + "/" + id);
  return base::done();
}

FileShare::Swept FileShare::sweep() const {
  const std::int64_t now = base::now_ms();
  Swept removed;
  if (!upkeep_->may_delete_by_time(now)) return removed;
  if (const auto expired = shares_->expired(now); expired.ok()) {
    for (const sessions::Share& share : expired.value()) {
      // The row first: what is listed must have its file.
      if (!shares_->remove(share).ok()) continue;
      remove_directory(directory_ + "/" + share.id);
      removed.expired.push_back(share);
    }
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(directory_.c_str()), &::closedir);
  if (!all) return removed;
  while (const dirent* entry = ::readdir(all.get())) {  // NOLINT: a DIR of our own
    const std::string name = entry->d_name;
    struct stat status {};
    if (!base::is_random_id(name, "share_") ||
        ::fstatat(::dirfd(all.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1000 > now - kOrphanMs) {
      continue;
    }
    const auto known = shares_->exists(name);
    if (!known.ok() || known.value()) continue;
    const std::int64_t age_ms = now - static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1000;
    const bool is_whole = holds_a_whole_copy(directory_ + "/" + name);
    if (is_whole && age_ms <= kWholeOrphanMs) continue;
    remove_directory(directory_ + "/" + name);
    removed.orphans.push_back(name);
  }
  return removed;
}

}  // namespace share
