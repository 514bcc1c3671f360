// envd's filesystem.Filesystem, and its /files.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "share/mime.h"
#include "tools/rest/api.h"
#include "tools/rest/download.h"
#include "tools/rest/e2b/connect.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/json_answer.h"
#include "tools/rest/process.h"
#include "tools/text_window.h"
#include "tools/tool_kit.h"

namespace tools::rest::e2b {

using base::Error;
using mcp::http::Part;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using sandbox::files::BoxFiles;

namespace filesystem {
namespace {

constexpr std::size_t kUploadBytesMax = sandbox::files::kWriteBytesMax;
constexpr std::size_t kFramingBytesMax = std::size_t{1} << 20;
constexpr std::int64_t kChangeSeconds = 60;  // for what removes and moves

std::string name_of_path(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string whole_path(const std::string& path) {
  return path.starts_with('/') ? path : "/workspace/" + path;
}

base::Result<std::string> text_in(const json& message, const char* name) {
  const json value = message.value(name, json());
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return whole_path(value.get<std::string>());
  }
  return base::error(Error::Kind::kInvalid, std::string(name) + " is missing");
}

base::Result<BoxFiles> files_of(const Services& services, const sessions::Session& session) {
  return files_in(TRY(services.sessions.root_of(session)), session);
}

// As ls(1) has them.
std::string permissions_of(mode_t mode, bool is_directory) {
  std::string text = is_directory ? "d" : "-";
  for (int shift = 6; shift >= 0; shift -= 3) {
    const mode_t bits = mode >> static_cast<unsigned>(shift);
    text += (bits & 4U) != 0 ? 'r' : '-';
    text += (bits & 2U) != 0 ? 'w' : '-';
    text += (bits & 1U) != 0 ? 'x' : '-';
  }
  return text;
}

json entry(const std::string& path, bool is_directory, std::int64_t bytes,
           std::int64_t modified_at_ms, mode_t mode) {
  return {{"name", name_of_path(path)},
          {"path", path},
          {"type", is_directory ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_FILE"},
          {"size", std::to_string(bytes)},
          {"mode", mode},
          {"permissions", permissions_of(mode, is_directory)},
          {"owner", "user"},
          {"group", "user"},
          {"modifiedTime", base::to_rfc3339(modified_at_ms)}};
}

base::Result<json> entry_at(const BoxFiles& files, const std::string& path) {
  const struct stat status = TRY(files.status_of(path));
  const bool is_directory = S_ISDIR(status.st_mode);
  const std::int64_t modified_at_ms =
      std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  json found = entry(path, is_directory, status.st_size, modified_at_ms, status.st_mode & 07777U);
  if (std::string target = TRY(files.link_target_of(path)); !target.empty()) {
    found["symlinkTarget"] = std::move(target);
  }
  return found;
}

base::Result<json> stat(const Services& services, const RpcCall& call) {
  const std::string path = TRY(text_in(call.message, "path"));
  const auto files = TRY(files_of(services, call.session));
  const json found = TRY(entry_at(files, path));
  return json{{"entry", found}};
}

base::Result<json> list(const Services& services, const RpcCall& call) {
  const std::string path = TRY(text_in(call.message, "path"));
  const auto files = TRY(files_of(services, call.session));
  const json depth = call.message.value("depth", json(1));
  sandbox::files::ListOptions options;
  options.max_entries = sandbox::files::kListEntriesMax;
  options.recursive = depth.is_number() && depth > 1;
  if (options.recursive) {
    options.max_depth = static_cast<std::size_t>(
        std::min(depth.get<double>(), static_cast<double>(sandbox::files::kListDepthMax)));
  }
  const auto listed = TRY(files.list(path, options));
  json entries = json::array();
  for (const auto& one : listed.entries) {
    entries.push_back(
        entry(one.path, one.type == "directory", one.bytes, one.modified_at_ms, one.mode));
  }
  return json{{"entries", std::move(entries)}};
}

base::Result<json> make_dir(const Services& services, const RpcCall& call) {
  const std::string path = TRY(text_in(call.message, "path"));
  const auto files = TRY(files_of(services, call.session));
  if (entry_at(files, path).ok()) {
    return base::error(Error::Kind::kConflict, path + " is there already");
  }
  TRY(files.make_directories(path));
  const json found = TRY(entry_at(files, path));
  return json{{"entry", found}};
}

// A program of the session, which has its rights and no more.
base::Status change(const Services& services, const RpcCall& call,
                    const std::vector<std::string>& words) {
  sandbox::RunRequest run;
  run.language = sandbox::Language::kBash;
  run.background = true;
  run.timeout_seconds = kChangeSeconds;
  run.code = TRY(command_line(words, ""));
  const Seen seen = TRY(run_to_its_end(services, call.session, std::move(run), call.request.gone));
  if (seen.run.status == sandbox::RunStatus::kCompleted) return base::done();
  return base::error(Error::Kind::kInvalid, seen.errors.empty() ? "it failed" : seen.errors);
}

base::Result<json> remove(const Services& services, const RpcCall& call) {
  const std::string path = TRY(text_in(call.message, "path"));
  const auto files = TRY(files_of(services, call.session));
  TRY(change(services, call, {"rm", "-r", "-f", "--", path}));
  return json::object();
}

base::Result<json> move(const Services& services, const RpcCall& call) {
  const std::string source = TRY(text_in(call.message, "source"));
  const std::string destination = TRY(text_in(call.message, "destination"));
  const auto files = TRY(files_of(services, call.session));
  (void)TRY(entry_at(files, source));
  TRY(change(services, call, {"mv", "-T", "--", source, destination}));
  const json found = TRY(entry_at(files, destination));
  return json{{"entry", found}};
}

Response refused_file(const Error& error) {
  const bool is_full = error.kind == Error::Kind::kLimit;
  return refused_with_code(is_full ? 507 : status_of(error), error.message);
}

base::Result<Response> download(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_file(services, request));
  const auto asked = request.query.find("path");
  if (asked == request.query.end()) return base::error(Error::Kind::kInvalid, "path is missing");
  const std::string path = whole_path(asked->second);
  const auto files = TRY(files_of(services, session));
  Download file;
  file.file = TRY(files.open(path));
  struct stat status {};
  if (::fstat(file.file.get(), &status) != 0) return Error::from_errno("fstat");
  file.bytes = status.st_size;
  file.filename = to_utf8(name_of_path(path));
  file.content_type = share::mime_type_of_name(file.filename);
  if (file.content_type.empty()) file.content_type = "application/octet-stream";
  return answer_with(request, std::move(file));
}

// Each part is a file: at ?path=, or, without it, where its name says.
base::Result<Response> upload(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_file(services, request));
  const auto asked = request.query.find("path");
  const std::string path = asked == request.query.end() ? "" : asked->second;
  const auto files = TRY(files_of(services, session));
  std::vector<std::pair<std::string, const std::string*>> sent;
  for (const Part& part : request.parts) {
    sent.emplace_back(path.empty() ? part.filename : path, &part.content);
  }
  if (request.parts.empty()) sent.emplace_back(path, &request.body);
  json written = json::array();
  for (const auto& [where, content] : sent) {
    if (where.empty()) return base::error(Error::Kind::kInvalid, "path is missing");
    const auto done = TRY(write_into(services, session, files, whole_path(where), *content,
                                     sandbox::files::WriteMode::kOverwrite));
    written.push_back(
        {{"name", name_of_path(done.record.path)}, {"path", done.record.path}, {"type", "file"}});
  }
  return json_answer(200, written);
}

Route file_route(const Services& services, const char* method,
                 base::Result<Response> (*function)(const Services&, const Request&)) {
  Route route;
  route.method = method;
  route.path = "/files";
  route.access = Route::Access::kPublic;
  route.identify = identified_by(services, session_of_file);
  route.refusal = refused_with_code;
  route.work = Route::Work::kCall;
  route.takes_parts = true;
  route.body_bytes = kUploadBytesMax + kFramingBytesMax;
  route.answer = [&services, function](const Request& request) {
    auto answered = function(services, request);
    return answered.ok() ? std::move(answered).value() : refused_file(answered.error());
  };
  return route;
}

Response health(const Services& services, const Request& request) {
  const auto session = session_of(services, request);
  const bool runs = session.ok() && session.value().status != "paused";
  return runs ? empty_answer() : refused_with_code(502, "the sandbox does not run");
}

}  // namespace
}  // namespace filesystem

std::vector<Route> filesystem_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const RpcCall& call) { return function(services, call); };
  };
  Route health{"GET", "/health", Route::Access::kPublic, [&services](const Request& request) {
                 return filesystem::health(services, request);
               }};
  health.body_bytes = 0;
  return {
      unary(services, "/filesystem.Filesystem/Stat", with(filesystem::stat)),
      unary(services, "/filesystem.Filesystem/ListDir", with(filesystem::list)),
      unary(services, "/filesystem.Filesystem/MakeDir", with(filesystem::make_dir)),
      unary(services, "/filesystem.Filesystem/Remove", with(filesystem::remove),
            Route::Work::kCall),
      unary(services, "/filesystem.Filesystem/Move", with(filesystem::move), Route::Work::kCall),
      filesystem::file_route(services, "GET", filesystem::download),
      filesystem::file_route(services, "POST", filesystem::upload),
      std::move(health)};
}

}  // namespace tools::rest::e2b
