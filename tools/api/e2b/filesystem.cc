// envd's filesystem.Filesystem, and its /files.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sessions/boxes.h"
#include "sessions/run_files.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "share/mime.h"
#include "tools/api/api.h"
#include "tools/api/download.h"
#include "tools/api/e2b/connect.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/e2b/entry.h"
#include "tools/api/e2b/signed_search.h"
#include "tools/api/json_answer.h"
#include "tools/program_run.h"
#include "tools/api/sandbox_files.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Part;
using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;
using sandbox::files::BoxFiles;

namespace {

constexpr std::size_t kFilesMax = 10'000;  // in one upload
constexpr std::int64_t kKernelReadSeconds = 2;
constexpr std::size_t kKernelReadBytes = std::size_t{1} << 20;
constexpr std::size_t kListedMost = 50'000;
constexpr std::int64_t kChangeSeconds = 60;  // for what removes and moves

base::Result<std::string> path_of_call(const RpcCall& call, const char* name) {
  const json value = call.message.value(name, json());
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return absolute_path(call.session, value.get<std::string>());
  }
  return base::error(Error::Kind::kInvalid, std::string(name) + " is missing");
}

base::Result<json> stat_entry(const Services& services, const RpcCall& call) {
  const std::string path = TRY(path_of_call(call, "path"));
  const auto files = TRY(files_of(services, call.session));
  const json found = TRY(entry_at(files, path));
  return json{{"entry", found}};
}

base::Result<json> list_directory(const Services& services, const RpcCall& call) {
  const std::string path = TRY(path_of_call(call, "path"));
  const auto files = TRY(files_of(services, call.session));
  const json depth = call.message.value("depth", json(1));
  sandbox::files::ListOptions options;
  options.max_entries = sandbox::files::kListEntriesMax;
  options.recursive = depth.is_number() && depth > 1;
  if (options.recursive) {
    options.max_depth = static_cast<std::size_t>(
        std::min(depth.get<double>(), static_cast<double>(sandbox::files::kListDepthMax)));
  }
  json entries = json::array();
  MetadataRoom room;
  // Their answer has no word for that it is cut: all is there, or it fails.
  while (true) {
    const auto listed = TRY(files.list(path, options));
    for (const auto& one : listed.entries) entries.push_back(listed_entry(files, one, room));
    if (!listed.lacks_some && !listed.has_more_behind) break;
    if (listed.lacks_some || listed.entries.empty() || entries.size() >= kListedMost) {
      return base::error(Error::Kind::kInvalid,
                         path + " has more entries than can be listed at once: list a part of it");
    }
    options.after = listed.entries.back().path;
  }
  return json{{"entries", std::move(entries)}};
}

base::Result<json> make_dir(const Services& services, const RpcCall& call) {
  const std::string path = TRY(path_of_call(call, "path"));
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
  run.trace.mark(sandbox::Hop::kCalled, call.request.begun);
  const Seen seen = TRY(run_to_its_end(services, call.session, std::move(run), call.request.gone));
  if (seen.run.status == sandbox::RunStatus::kCompleted) return base::done();
  return base::error(Error::Kind::kInvalid, seen.errors.empty() ? "it failed" : seen.errors);
}

base::Result<json> remove_entry(const Services& services, const RpcCall& call) {
  const std::string path = TRY(path_of_call(call, "path"));
  const auto files = TRY(files_of(services, call.session));
  TRY(change(services, call, {"rm", "-r", "-f", "--", path}));
  return json::object();
}

base::Result<json> move_entry(const Services& services, const RpcCall& call) {
  const std::string source = TRY(path_of_call(call, "source"));
  const std::string destination = TRY(path_of_call(call, "destination"));
  const auto files = TRY(files_of(services, call.session));
  (void)TRY(entry_at(files, source));
  TRY(change(services, call, {"mv", "-T", "--", source, destination}));
  const json found = TRY(entry_at(files, destination));
  return json{{"entry", found}};
}

Response refused_file(const Error& error) {
  const bool is_full =
      error.kind == Error::Kind::kLimit && error.os_errno != sandbox::kTooManyInBackground;
  return refused_with_code(is_full ? 507 : status_of(error), words_of(error));
}

bool is_of_kernel(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string().starts_with("/proc/");
}

// Reads a file of /proc by a process of the session: only one may, by its own rights. Fails with
// kLimit beyond 1 MiB.
base::Result<Response> read_of_kernel(const Services& services, const sessions::Session& session,
                                      const std::string& path, const Request& request) {
  constexpr int kNotThere = 66;  // EX_NOINPUT of sysexits(3)
  const std::string is_there = TRY(command_line({"test", "-e", path}, ""));
  const std::string show =
      TRY(command_line({"head", "-c", std::to_string(kKernelReadBytes + 1), "--", path}, ""));
  sandbox::RunRequest run;
  run.language = sandbox::Language::kBash;
  run.background = true;
  run.timeout_seconds = kKernelReadSeconds;
  run.code = is_there + " || exit " + std::to_string(kNotThere) + "\n" + show;
  run.trace.mark(sandbox::Hop::kCalled, request.begun);
  auto state = TRY(services.runs.start(session, std::move(run)));
  state = TRY(wait_for_end(services, session, std::move(state), request.gone));
  if (state.run.exit_code == kNotThere) {
    return base::error(Error::Kind::kNotFound, path + ": no such file or directory");
  }
  if (state.run.status != sandbox::RunStatus::kCompleted) {
    const Seen seen = TRY(look_at(services, std::move(state)));
    return base::error(Error::Kind::kInvalid,
                       seen.errors.empty() ? path + " cannot be read to its end" : seen.errors);
  }
  Response response;
  response.content_type = "application/octet-stream";
  response.body =
      TRY(services.run_files.read(session.id, state.run.run_id, "stdout", 0, kKernelReadBytes + 1));
  if (response.body.size() <= kKernelReadBytes) return response;
  return base::error(Error::Kind::kLimit, path + " has more than 1 MiB, which is read at most");
}

base::Result<Response> download(const Services& services, const Request& request) {
  const sessions::Session session = TRY(session_of_file(services, request));
  const auto asked = request.query.find("path");
  if (asked == request.query.end()) return base::error(Error::Kind::kInvalid, "path is missing");
  const std::string path = absolute_path(session, asked->second);
  const auto files = TRY(files_of(services, session));
  if (is_of_kernel(path)) return read_of_kernel(services, session, path, request);
  Download file;
  file.file = TRY(files.open(path));
  struct stat status {};
  if (::fstat(file.file.get(), &status) != 0) return Error::from_errno("fstat");
  file.bytes = status.st_size;
  file.filename = to_utf8(base::name_of_path(path));
  file.content_type = share::mime_type_of_name(file.filename);
  if (file.content_type.empty()) file.content_type = "application/octet-stream";
  return answer_with(request, std::move(file));
}

// Returns the metadata that goes with each file of an upload: the headers X-Metadata-NAME. Fails
// with kInvalid for a name that is empty or too long.
base::Result<sandbox::files::Attributes> metadata_headers(const Request& request) {
  constexpr std::string_view kHeader = "x-metadata-";
  constexpr std::size_t kNameBytesMax = 255;  // XATTR_NAME_MAX
  sandbox::files::Attributes metadata;
  for (auto one = request.headers.lower_bound(std::string(kHeader)); one != request.headers.end();
       ++one) {
    const std::string name = base::lower(one->first);
    if (!name.starts_with(kHeader)) break;
    const std::string attribute = kMetadataPrefix + name.substr(kHeader.size());
    if (name.size() == kHeader.size() || attribute.size() > kNameBytesMax) {
      return base::error(Error::Kind::kInvalid,
                         "the name of metadata has from 1 to 246 characters");
    }
    metadata[attribute] = one->second;
  }
  return metadata;
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
  const auto metadata = TRY(metadata_headers(request));
  json written = json::array();
  for (const auto& [where, content] : sent) {
    if (where.empty()) return base::error(Error::Kind::kInvalid, "path is missing");
    const auto done = TRY(write_into(services, session, files, absolute_path(session, where),
                                     *content, sandbox::files::WriteMode::kOverwrite, metadata));
    json one = {{"name", base::name_of_path(done.record.path)},
                {"path", done.record.path},
                {"type", "file"}};
    for (const auto& [name, value] : metadata) {
      one["metadata"][name.substr(std::string_view(kMetadataPrefix).size())] = value;
    }
    written.push_back(std::move(one));
  }
  return json_answer(200, written);
}

std::optional<mcp::auth::Challenge> identify_signed(const Services& services, SignedSearch& search,
                                                    Request& head) {
  if (head.query.contains("signature") && !names_sandbox(head)) {
    auto found = search.find(services, head);
    if (!found.ok()) {
      return mcp::auth::Challenge{status_of(found.error()), "", found.error().message};
    }
    head.parameters[kFoundSandbox] = std::move(found).value();
  }
  return identified_by(services, session_of_file)(head);
}

Route file_route(const Services& services, const std::shared_ptr<SignedSearch>& search,
                 const char* method,
                 base::Result<Response> (*function)(const Services&, const Request&)) {
  Route route;
  route.method = method;
  route.path = "/files";
  route.access = Route::Access::kPublic;
  route.identify = [&services, search](Request& head) {
    return identify_signed(services, *search, head);
  };
  route.refusal = refused_with_code;
  route.work = Route::Work::kCall;
  route.takes_parts = true;
  route.parts_max = kFilesMax;
  route.takes_gzip = true;
  route.body_bytes = kUploadBytesMax + kFramingBytesMax;
  route.answer = [&services, function](const Request& request) {
    auto answered = function(services, request);
    return answered.ok() ? std::move(answered).value() : refused_file(answered.error());
  };
  return route;
}

Response answer_health(const Services& services, const Request& request) {
  const auto session = session_of(services, request);
  const bool runs = session.ok() && !services.states.sleeps(session.value());
  return runs ? empty_answer() : refused_with_code(502, "the sandbox does not run");
}

}  // namespace

std::vector<Route> filesystem_routes(const Services& services) {
  const auto with = [&services](auto function) {
    return [&services, function](const RpcCall& call) { return function(services, call); };
  };
  const auto search = std::make_shared<SignedSearch>();
  Route health{"GET", "/health", Route::Access::kPublic,
               [&services](const Request& request) { return answer_health(services, request); }};
  health.body_bytes = 0;
  health.refusal = refused_with_code;
  health.identify = [](Request& head) -> std::optional<mcp::auth::Challenge> {
    if (has_key(head)) return std::nullopt;
    return mcp::auth::Challenge{401, "", kKeyNeeded};
  };
  return {unary(services, "/filesystem.Filesystem/Stat", with(stat_entry)),
          unary(services, "/filesystem.Filesystem/ListDir", with(list_directory)),
          unary(services, "/filesystem.Filesystem/MakeDir", with(make_dir)),
          unary(services, "/filesystem.Filesystem/Remove", with(remove_entry), Route::Work::kCall),
          unary(services, "/filesystem.Filesystem/Move", with(move_entry), Route::Work::kCall),
          file_route(services, search, "GET", download),
          file_route(services, search, "POST", upload),
          std::move(health)};
}

}  // namespace tools::api::e2b
