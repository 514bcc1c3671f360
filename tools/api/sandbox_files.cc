#include "tools/api/sandbox_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "mcp/http/budget.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sessions/boxes.h"
#include "sessions/manager_config.h"
#include "sessions/session.h"
#include "share/mime.h"
#include "tools/api/api.h"
#include "tools/api/download.h"
#include "tools/api/json_answer.h"
#include "tools/folder_zip.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools::api {

using base::Error;
using mcp::http::Part;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;

namespace {

constexpr std::size_t kArchivesMost = 8;
constexpr std::int64_t kArchiveBytesMax = std::int64_t{2} << 30;  // before it is compressed

std::string path_in_query(const Request& request, const std::string& otherwise) {
  const auto found = request.query.find("path");
  return found == request.query.end() ? otherwise : found->second;
}

json entry_view(const sandbox::files::ListEntry& entry) {
  return {{"name", base::name_of_path(entry.path)},
          {"path", entry.path},
          {"type", entry.type == "directory" ? "dir" : entry.type},
          {"size", entry.bytes},
          {"modifiedAt", base::to_rfc3339(entry.modified_at_ms)}};
}

base::Result<Response> list_files(const sandbox::files::BoxFiles& files, const std::string& path) {
  sandbox::files::ListOptions options;
  options.max_entries = sandbox::files::kListEntriesMax;
  const auto listed = TRY(files.list(path, options));
  json entries = json::array();
  for (const auto& entry : listed.entries) entries.push_back(entry_view(entry));
  return json_answer(200, {{"path", sandbox::files::shown_path(listed.path)},
                           {"entries", std::move(entries)},
                           {"truncated", listed.truncated}});
}

base::Result<Response> read(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  const auto files = TRY(files_of(services, session));
  const std::string path = path_in_query(request, session.working_directory);
  auto opened = files.open(path);
  if (!opened.ok() && opened.error().os_errno == EISDIR) return list_files(files, path);
  base::UniqueFd file = TRY(std::move(opened));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Error::from_errno("fstat");
  Download download;
  download.file = std::move(file);
  download.bytes = status.st_size;
  download.filename = to_utf8(base::name_of_path(path));
  download.content_type = share::mime_type_of_name(download.filename);
  if (download.content_type.empty()) download.content_type = "application/octet-stream";
  return answer_with(request, std::move(download));
}

using Archives = std::shared_ptr<mcp::http::FairBudget>;

base::Result<Response> read_archive(const Services& services, const Archives& archives,
                                    const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  const auto files = TRY(files_of(services, session));
  Download download;
  download.room = mcp::http::FairBudget::take(archives, request.principal.id, 1);
  if (!download.room) {
    return base::error(Error::Kind::kLimit, "other archives are being fetched: try again");
  }
  FolderZip zip = TRY(zip_folder(files, path_in_query(request, session.working_directory),
                                 services.config.state_directory,
                                 {kArchiveBytesMax, kArchiveBytesMax}, request.gone));
  download.file = std::move(zip.file);
  download.bytes = zip.bytes;
  download.filename = zip.filename;
  download.content_type = "application/zip";
  Response response = answer_with(request, std::move(download));
  if (zip.left_out > 0) response.headers.emplace_back("X-Hutch-Note", told_of_left_out(zip));
  return response;
}

// Holds what was sent, and where it is to go.
struct UploadedFile {
  std::string path;
  const std::string* content = nullptr;
};

base::Result<UploadedFile> upload_in(const Request& request) {
  UploadedFile upload{path_in_query(request, ""), nullptr};
  std::string filename;
  for (const Part& part : request.parts) {
    if (part.filename.empty() && part.name == "path") {
      upload.path = part.content;
    } else if (upload.content == nullptr && (part.name == "file" || !part.filename.empty())) {
      upload.content = &part.content;
      filename = part.filename;
    } else if (!part.filename.empty()) {
      return base::error(Error::Kind::kInvalid,
                         "one file a request: there is a second one, " + to_utf8(part.filename));
    }
  }
  if (request.parts.empty()) upload.content = &request.body;
  if (upload.content == nullptr) {
    return base::error(Error::Kind::kInvalid,
                       "there is no file: send a part named file, or the bytes as the body with "
                       "?path=");
  }
  // A browser may send more of the path than the name.
  if (upload.path.empty() && !filename.empty()) upload.path = base::name_of_path(filename);
  if (upload.path.ends_with('/')) upload.path += base::name_of_path(filename);
  if (!upload.path.empty()) return upload;
  return base::error(Error::Kind::kInvalid, "path is missing: where in the sandbox to put it");
}

base::Result<Response> write(const Services& services, const Request& request) {
  const sessions::Session session = TRY(sandbox_of(services, request));
  const UploadedFile upload = TRY(upload_in(request));
  const std::size_t bytes = upload.content->size();
  if (bytes > kUploadBytesMax) {
    return refused_with_code(413,
                             "the file has " + std::to_string(bytes) + " bytes: " + kTooLargeFile);
  }
  const auto files = TRY(files_of(services, session));
  auto done = write_into(services, session, files, upload.path, *upload.content,
                         sandbox::files::WriteMode::kOverwrite);
  // Trying again would not help, as 429 says it does.
  if (!done.ok() && done.error().kind == Error::Kind::kLimit) {
    return refused_with_code(507, done.error().message);
  }
  const auto [written, record] = TRY(std::move(done));
  return json_answer(201, {{"name", base::name_of_path(record.path)},
                           {"path", record.path},
                           {"type", "file"},
                           {"size", written.bytes}});
}

}  // namespace

std::vector<Route> sandbox_file_routes(const Services& services) {
  Route reading = route_of(
      {"GET", "/sandboxes/{id}/files",
       [&services](const Request& request, const Arguments&) { return read(services, request); }},
      refused_with_code);
  Route writing = route_of(
      {"POST",
       "/sandboxes/{id}/files",
       [&services](const Request& request, const Arguments&) { return write(services, request); },
       {},
       true},
      refused_with_code);
  const auto archives = std::make_shared<mcp::http::FairBudget>(kArchivesMost);
  Route archive = route_of({"GET", "/sandboxes/{id}/archive",
                            [&services, archives](const Request& request, const Arguments&) {
                              return read_archive(services, archives, request);
                            }},
                           refused_with_code);
  archive.work = Route::Work::kCall;
  reading.work = writing.work = Route::Work::kCall;
  writing.takes_parts = true;
  writing.body_bytes = kUploadBytesMax + kFramingBytesMax;
  return {std::move(reading), std::move(writing), std::move(archive)};
}

}  // namespace tools::api
