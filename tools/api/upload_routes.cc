// Uploads that go on where they were cut off, as tus 1.0 has them (https://tus.io/protocols): core,
// creation and termination, below /sandboxes/{id}/uploads. A piece that is cut off comes again.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "mcp/http/budget.h"
#include "sandbox/files/box_files.h"
#include "sandbox/sandbox.h"
#include "sessions/boxes.h"
#include "sessions/manager_config.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "tools/api/api.h"
#include "tools/api/json_answer.h"
#include "tools/api/sandbox_files.h"
#include "tools/api/uploads.h"
#include "tools/session_files.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;

namespace {

constexpr std::int64_t kBytesMax = static_cast<std::int64_t>(sandbox::files::kWriteBytesMax);
constexpr const char* kVersion = "1.0.0";

std::optional<std::int64_t> length_in(std::string_view text) {
  const auto number = base::number_of<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// "path L3dvcms=,filename YS50eHQ=": keys and values in base64.
std::string upload_metadata(std::string_view header, std::string_view key) {
  while (!header.empty()) {
    std::string_view one = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), one.size() + 1));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::size_t space = std::min(one.find(' '), one.size());
    if (one.substr(0, space) != key) continue;
    return base::from_base64(one.substr(std::min(space + 1, one.size()))).value_or("");
  }
  return "";
}

std::string upload_path(const Request& request) {
  if (const auto asked = request.query.find("path"); asked != request.query.end()) {
    return asked->second;
  }
  const std::string_view metadata = request.header("Upload-Metadata");
  const std::string path = upload_metadata(metadata, "path");
  return path.empty() ? upload_metadata(metadata, "filename") : path;
}

Response answer_of(int status, const Upload& upload) {
  Response response = empty_answer();
  response.status = status;
  response.headers.emplace_back("Tus-Resumable", kVersion);
  response.headers.emplace_back("Upload-Offset", std::to_string(upload.offset_bytes));
  response.headers.emplace_back("Upload-Length", std::to_string(upload.length_bytes));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

// Uploads that may be finished at a time: each is read into memory once more, to be written where
// it goes.
constexpr std::size_t kFinishingMost = 4;

struct UploadPlace {
  sessions::Session session;
  Uploads uploads;
};

std::shared_ptr<const void> room_to_finish(const std::string& principal_id) {
  static const auto room = std::make_shared<mcp::http::FairBudget>(kFinishingMost);
  return mcp::http::FairBudget::take(room, principal_id, 1);
}

base::Result<UploadPlace> upload_place(const Services& services, const Request& request) {
  sessions::Session session = TRY(sandbox_of(services, request));
  Uploads uploads(sessions::SessionDirectory(services.config.state_directory, session.id));
  return UploadPlace{std::move(session), std::move(uploads)};
}

// Takes room for an upload, or fails with kLimit. Unfinished uploads count as much as they are to
// have: here for themselves, where a quota holds the disk, and in the box beside its files.
base::Status take_room(const Services& services, const sessions::Session& session,
                       std::int64_t bytes, const sandbox::UnfinishedUploads& before) {
  const std::int64_t disk_mb = session.limits.disk_mb;
  if (before.bytes + bytes > disk_mb << 20) {
    return base::error(Error::Kind::kLimit,
                       "the session's unfinished uploads take " +
                           std::to_string(before.bytes >> 20) + " of its " +
                           std::to_string(disk_mb) +
                           " MB (limits.disk_mb): delete some, or create_session with more");
  }
  // The box counts none that is being put in place, and its file may not have taken its room yet.
  return services.boxes.take_disk_room(session, bytes + before.placed_bytes,
                                       sandbox::RoomFor::kUpload);
}

// Puts a whole upload into the session. One that does not fit there stays, and an empty piece tries
// again.
base::Status finish(const Services& services, const UploadPlace& place, const Upload& upload) {
  const auto room = room_to_finish(place.session.principal_id);
  if (!room) {
    return base::error(Error::Kind::kUnavailable,
                       "other uploads are being put in place: send an empty piece again");
  }
  const auto files = TRY(files_of(services, place.session));
  const std::string content =
      TRY(base::read_at(upload.data.get(), 0, static_cast<std::size_t>(upload.length_bytes)));
  return place.uploads.place(upload, [&]() -> base::Status {
    (void)TRY(write_into(services, place.session, files, upload.path, content,
                         sandbox::files::WriteMode::kOverwrite));
    return base::done();
  });
}

base::Result<Response> create_upload(const Services& services, const Request& request,
                                     const Arguments&) {
  const UploadPlace place = TRY(upload_place(services, request));
  const auto length = length_in(request.header("Upload-Length"));
  if (!length) {
    return base::error(Error::Kind::kInvalid, "Upload-Length is missing: how many bytes it has");
  }
  if (*length > kBytesMax) {
    return refused_with_code(
        413, "the file has " + std::to_string(*length) + " bytes: " + kTooLargeFile);
  }
  const std::string path = upload_path(request);
  if (path.empty()) {
    return base::error(Error::Kind::kInvalid,
                       "where it goes is missing: ?path=, or path in Upload-Metadata");
  }
  bool has_room = true;
  auto begun = place.uploads.begin(path, *length, [&](const sandbox::UnfinishedUploads& before) {
    auto room = take_room(services, place.session, *length, before);
    has_room = room.ok() || room.error().kind != Error::Kind::kLimit;
    return room;
  });
  if (!has_room) return refused_with_code(507, begun.error().message);
  const Upload upload = TRY(std::move(begun));
  if (*length == 0) {
    if (const auto done = finish(services, place, upload); !done.ok()) {
      place.uploads.remove(upload);  // nobody knows of it
      return done.error();
    }
  }
  Response response = answer_of(201, upload);
  response.headers.emplace_back(
      "Location", "/sandboxes/" + request.parameters.at("id") + "/uploads/" + upload.id);
  return response;
}

base::Result<Response> look_at_upload(const Services& services, const Request& request,
                                      const Arguments&) {
  const UploadPlace place = TRY(upload_place(services, request));
  return answer_of(200, TRY(place.uploads.take(request.parameters.at("upload"))));
}

base::Result<Response> append(const Services& services, const Request& request, const Arguments&) {
  if (request.header("Content-Type") != "application/offset+octet-stream") {
    return refused_with_code(415, "a piece is application/offset+octet-stream");
  }
  const UploadPlace place = TRY(upload_place(services, request));
  Upload upload = TRY(place.uploads.take(request.parameters.at("upload")));
  const auto offset = length_in(request.header("Upload-Offset"));
  if (offset != upload.offset_bytes) {
    return base::error(Error::Kind::kConflict, "Upload-Offset must be " +
                                                   std::to_string(upload.offset_bytes) +
                                                   ": so many bytes are there");
  }
  TRY(Uploads::append(upload, request.body));
  if (upload.offset_bytes == upload.length_bytes) {
    const auto done = finish(services, place, upload);
    if (!done.ok() && done.error().kind == Error::Kind::kLimit) {
      return refused_with_code(507, done.error().message);
    }
    TRY(done);
  }
  return answer_of(204, upload);
}

base::Result<Response> remove_upload(const Services& services, const Request& request,
                                     const Arguments&) {
  const UploadPlace place = TRY(upload_place(services, request));
  const Upload upload = TRY(place.uploads.take(request.parameters.at("upload")));
  place.uploads.remove(upload);
  return answer_of(204, upload);
}

}  // namespace

std::vector<Route> upload_routes_of(const Services& services) {
  constexpr auto kCall = Route::Work::kCall;
  const With with(services);
  constexpr const char* kOne = "/sandboxes/{id}/uploads/{upload}";
  std::vector<Operation> operations{
      {"POST", "/sandboxes/{id}/uploads", with(create_upload), {}, true, kCall},
      {"GET", kOne, with(look_at_upload), {}, false, kCall},
      {"PATCH", kOne, with(append), {}, true, kCall},
      {"DELETE", kOne, with(remove_upload), {}, true, kCall}};
  std::vector<Route> routes;
  for (Operation& operation : operations) {
    routes.push_back(route_of(std::move(operation), refused_with_code));
    routes.back().body_bytes = routes.back().method == "PATCH" ? sandbox::files::kWriteBytesMax : 0;
  }
  return routes;
}

}  // namespace tools::api
