#include "tools/api/uploads.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/random_id.h"
#include "sessions/session_directory.h"
#include "share/host_room.h"

namespace tools::api {

using base::Error;
using nlohmann::json;

namespace {

Error no_such_upload(const std::string& id) {
  return base::error(Error::Kind::kNotFound,
                     "there is no upload " + id + ": it is over, or was left for a day");
}

base::Result<std::int64_t> size_of(const base::UniqueFd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno("fstat of an upload");
  return static_cast<std::int64_t>(status.st_size);
}

}  // namespace

Uploads::Uploads(const sessions::SessionDirectory& session) : directory_(session.uploads()) {}

std::string Uploads::place_of(const std::string& id) const { return directory_ + "/" + id; }

std::vector<std::string> Uploads::sweep_all(const std::string& state_directory) {
  std::vector<std::string> removed;
  const auto directory = base::open_file(AT_FDCWD, sessions::sessions_directory(state_directory),
                                         O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return removed;
  for (const std::string& name : base::names_in(directory.value().get())) {
    Uploads(sessions::SessionDirectory(state_directory, name)).sweep(removed);
  }
  return removed;
}

void Uploads::sweep(std::vector<std::string>& removed) const {
  const auto directory = base::open_file(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return;
  const int fd = directory.value().get();
  for (const std::string& name : base::names_in(fd)) {
    struct stat status {};
    if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_data = base::is_short_id(name, sandbox::kUploadPrefix);
    const std::string data = is_data ? name : name.substr(0, name.find('.'));
    const bool is_whole = ::faccessat(fd, data.c_str(), F_OK, 0) == 0;
    if (base::now_ms() / 1000 - status.st_mtime < sandbox::kUploadKeptSeconds ||
        (!is_data && is_whole))
      continue;
    (void)::unlinkat(fd, (data + sandbox::kUploadAbout).c_str(), 0);
    (void)::unlinkat(fd, (data + sandbox::kUploadPlacing).c_str(), 0);
    if (::unlinkat(fd, data.c_str(), 0) == 0) removed.push_back(data);
  }
}

base::Result<Upload> Uploads::begin(const std::string& path, std::int64_t length_bytes,
                                    const HasRoom& has_room) const {
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + directory_);
  }
  TRY(share::check_host_room(directory_, length_bytes, "an upload"));
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY));
  if (::flock(directory.get(), LOCK_EX) != 0) return Error::from_errno("flock " + directory_);
  const sandbox::UnfinishedUploads before = sandbox::unfinished_uploads(directory.get());
  TRY(has_room(before));
  if (before.count >= kMost) {
    return base::error(Error::Kind::kLimit, "this session already has " + std::to_string(kMost) +
                                                " uploads: finish one of them, or delete it");
  }
  Upload upload;
  upload.id = base::short_id(sandbox::kUploadPrefix);
  upload.path = path;
  upload.length_bytes = length_bytes;
  const base::UniqueFd about =
      TRY(base::open_file(AT_FDCWD, place_of(upload.id) + sandbox::kUploadAbout,
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(base::write_all(about.get(),
                      base::print_json({{"path", path}, {sandbox::kUploadLength, length_bytes}})));
  upload.data = TRY(
      base::open_file(AT_FDCWD, place_of(upload.id), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  return upload;
}

base::Result<Upload> Uploads::take(const std::string& id) const {
  if (!base::is_short_id(id, sandbox::kUploadPrefix)) return no_such_upload(id);
  Upload upload;
  upload.id = id;
  auto data = base::open_file(AT_FDCWD, place_of(id), O_RDWR | O_NOFOLLOW);
  if (!data.ok()) return data.error().os_errno == ENOENT ? no_such_upload(id) : data.error();
  upload.data = std::move(data).value();
  if (::flock(upload.data.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::error(Error::Kind::kConflict, "another request sends a piece of this upload");
  }
  // Nobody puts it in place now: one that was, when a server was killed, counts again.
  (void)::rename((place_of(id) + sandbox::kUploadPlacing).c_str(),
                 (place_of(id) + sandbox::kUploadAbout).c_str());
  const json told =
      TRY(sandbox::upload_description(AT_FDCWD, place_of(id) + sandbox::kUploadAbout));
  upload.path = base::string_or(told, "path");
  upload.length_bytes = base::integer_or(told, sandbox::kUploadLength, 0);
  upload.offset_bytes = TRY(size_of(upload.data));
  return upload;
}

base::Status Uploads::append(Upload& upload, std::string_view bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > upload.length_bytes - upload.offset_bytes) {
    return base::error(Error::Kind::kInvalid, "this is more than Upload-Length said");
  }
  if (::lseek(upload.data.get(), upload.offset_bytes, SEEK_SET) < 0) {
    return Error::from_errno("lseek of an upload");
  }
  if (auto written = base::write_all(upload.data.get(), bytes); !written.ok()) {
    // The part that was written goes: the client is not told of it, and sends it again.
    (void)!::ftruncate(upload.data.get(), upload.offset_bytes);
    return written;
  }
  upload.offset_bytes += static_cast<std::int64_t>(bytes.size());
  return base::done();
}

base::Status Uploads::place(const Upload& upload, const std::function<base::Status()>& put) const {
  const std::string about = place_of(upload.id) + sandbox::kUploadAbout;
  const std::string placing = place_of(upload.id) + sandbox::kUploadPlacing;
  if (::rename(about.c_str(), placing.c_str()) != 0) return Error::from_errno("rename " + about);
  const base::Status done = put();
  if (done.ok()) {
    remove(upload);
  } else if (::rename(placing.c_str(), about.c_str()) != 0 && errno != ENOENT) {
    return Error::from_errno("rename " + placing);
  }
  return done;
}

void Uploads::remove(const Upload& upload) const {
  (void)::unlink((place_of(upload.id) + sandbox::kUploadAbout).c_str());
  (void)::unlink((place_of(upload.id) + sandbox::kUploadPlacing).c_str());
  (void)::unlink(place_of(upload.id).c_str());
}

}  // namespace tools::api
