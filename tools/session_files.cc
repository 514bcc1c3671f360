#include "tools/session_files.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/digest.h"
#include "sandbox/files/box_path.h"
#include "sessions/boxes.h"
#include "sessions/file_table.h"
#include "sessions/manager_config.h"
#include "sessions/session_directory.h"

namespace tools {

sandbox::files::BoxFiles files_in(base::UniqueFd root, const sessions::Session& session) {
  std::optional<std::uint32_t> uid;
  if (session.host_uid) uid = static_cast<std::uint32_t>(*session.host_uid);
  return {std::move(root), uid, session.working_directory};
}

base::Result<sandbox::files::BoxFiles> files_of(const Services& services,
                                                const sessions::Session& session) {
  return files_in(TRY(services.boxes.root_of(session)), session);
}

namespace {

class DiskRoom {
 public:
  DiskRoom(const Services& services, const sessions::Session& session, std::int64_t bytes)
      : services_(services), session_(session), bytes_(bytes) {}
  ~DiskRoom() { services_.boxes.disk_written(session_, bytes_); }
  DiskRoom(const DiskRoom&) = delete;
  DiskRoom& operator=(const DiskRoom&) = delete;

 private:
  const Services& services_;
  const sessions::Session& session_;
  const std::int64_t bytes_;
};

}  // namespace

base::Result<std::shared_ptr<const void>> take_disk_room(const Services& services,
                                                         const sessions::Session& session,
                                                         const sandbox::files::BoxFiles& files,
                                                         const std::string& path,
                                                         std::int64_t bytes) {
  if (bytes <= 0 || files.is_in_host_folder(path)) return std::shared_ptr<const void>();
  TRY(services.boxes.take_disk_room(session, bytes));
  return std::shared_ptr<const void>(std::make_shared<DiskRoom>(services, session, bytes));
}

namespace {

// `content` was written, at the end of a file that may have had some before.
base::Result<std::optional<std::string>> hash_of_written(const sandbox::files::BoxFiles& files,
                                                         const sandbox::files::WriteResult& written,
                                                         const std::string& content) {
  if (written.bytes == static_cast<std::int64_t>(content.size())) {
    return std::optional<std::string>(TRY(base::sha256_hex(content)));
  }
  if (written.bytes > kHashedBytesMax) return std::optional<std::string>();
  const auto file = files.open(written.path);
  if (!file.ok()) return std::optional<std::string>();  // the code has removed it meanwhile
  return base::sha256_hex_of_file(file.value().get(), written.bytes);
}

}  // namespace

base::Result<sessions::FileRecord> record_written(const Services& services,
                                                  const sessions::Session& session,
                                                  const sandbox::files::BoxFiles& files,
                                                  const sandbox::files::WriteResult& written,
                                                  const std::string& content) {
  auto hash = TRY(hash_of_written(files, written, content));
  sessions::FileRecord record{
      session.id,     std::nullopt,  sandbox::files::shown_path(written.path),
      written.change, written.bytes, std::move(hash),
      base::now_ms()};
  // The file is written, and a caller who heard of a failure would write again: a full disk or a
  // database that is busy for long cost the record, not the answer.
  const auto kept = services.file_table.record(record);
  const bool tolerated = kept.ok() || kept.error().kind == base::Error::Kind::kLimit ||
                         kept.error().kind == base::Error::Kind::kUnavailable;
  if (!tolerated) return kept.error();
  return record;
}

base::Result<WrittenFile> write_into(const Services& services, const sessions::Session& session,
                                     const sandbox::files::BoxFiles& files, const std::string& path,
                                     const std::string& content, sandbox::files::WriteMode mode,
                                     const sandbox::files::Attributes& attributes) {
  const auto bytes = static_cast<std::int64_t>(content.size());
  const auto room = TRY(take_disk_room(services, session, files, path, bytes));
  const auto lock = services.boxes.lock_of_files(session);
  const std::lock_guard one_at_a_time(*lock);
  auto behind = TRY(sessions::SessionDirectory(services.config.state_directory, session.id)
                        .behind_rule(session, path));
  auto written = behind ? TRY(files_in(std::move(behind->root), session)
                                  .write(behind->path, content, mode, {}, attributes))
                        : TRY(files.write(path, content, mode, {}, attributes));
  if (behind) written.path = sandbox::kWorkspace + written.path;
  auto record = TRY(record_written(services, session, files, written, content));
  return WrittenFile{std::move(written), std::move(record)};
}

}  // namespace tools
