// share_file.
#include <cerrno>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/percent_encoding.h"
#include "base/text.h"
#include "sandbox/files/box_files.h"
#include "sessions/boxes.h"
#include "sessions/manager_config.h"
#include "sessions/session.h"
#include "sessions/share_table.h"
#include "tools/folder_zip.h"
#include "tools/mcp/call_session.h"
#include "tools/sandbox_uri.h"
#include "tools/mcp/share_link.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;

namespace {

constexpr std::int64_t kFolderBytesMax = std::int64_t{1} << 30;  // before it is compressed

// Where the person at this machine finds it.
struct HostPlace {
  std::string path;
  bool is_theirs = false;  // theirs to keep, beside the store's copy
  std::string note = {};   // why it is not theirs, where it was to be
};

HostPlace place_on_host(const sessions::Share& shared, const Services& services) {
  HostPlace place{services.share.stored_path(shared)};
  if (!services.folder->wants_copies()) return place;
  const auto put = [&]() -> base::Result<std::string> {
    const base::UniqueFd stored = TRY(services.share.open_stored(shared));
    return services.folder->put(stored.get(), shared.filename);
  }();
  if (put.ok()) return {put.value(), true};
  place.note = to_utf8("not put into " + services.folder->path() + ": " + put.error().message);
  return place;
}

void tell(Reply& reply, std::string& told, const std::string& note) {
  if (note.empty()) return;
  base::append_part(told, note, "; ");
  reply.structured["note"] = told;
  reply.text += "\n" + one_line(note);
}

Reply reply_of(const sessions::Share& shared, const Services& services, const std::string& note) {
  Reply reply;
  reply.structured = json{{"id", shared.id},
                          {"filename", shared.filename},
                          {"bytes", shared.bytes},
                          {"created_at", base::to_rfc3339(shared.created_at)},
                          {"mime_type", shared.mime_type},
                          {"sha256", shared.sha256}};
  reply.text = "shared " + shared.filename + " (" + shared.mime_type + ", " +
               std::to_string(shared.bytes) + " bytes, sha256 " + shared.sha256 + ") as " +
               shared.id;
  std::string told;
  tell(reply, told, note);
  std::string uri = sandbox_uri(kSharedAuthority, "/" + shared.id + "/" + shared.filename);
  if (services.folder != nullptr) {
    const HostPlace place = place_on_host(shared, services);
    uri = "file://" + base::percent_encoded(place.path, "/");
    reply.structured["host_path"] = to_utf8(place.path);
    reply.text += "\non the user's machine: " + one_line(place.path) +
                  (place.is_theirs ? ", theirs to keep" : "");
    tell(reply, told, place.note);
  } else {
    reply.text += "\nto be read as " + uri;
  }
  if (shared.expires_at) {
    const std::string expires = base::to_rfc3339(*shared.expires_at);
    reply.structured["expires_at"] = expires;
    reply.text += "\n" + shared.id + " expires at " + expires;
  }
  const std::string base_url = services.public_url ? services.public_url() : "";
  if (!base_url.empty()) {
    const ShareLink link = link_to(shared, base_url);
    reply.structured["url"] = link.file;
    reply.structured["page_url"] = link.page;
    reply.text += "\nfor people: " + link.page + "\nthe file itself: " + link.file;
    if (services.folder == nullptr) uri = link.file;
  }
  reply.more->push_back({{"type", "resource_link"},
                         {"uri", uri},
                         {"name", shared.filename},
                         {"mimeType", shared.mime_type},
                         {"size", shared.bytes}});
  return reply;
}

struct Source {
  base::UniqueFd file;
  std::string filename = {};  // empty: its own
  std::string note = {};
};

// Opens what is to be shared; a folder becomes a zip file.
base::Result<Source> open_source(const Services& services, const sandbox::files::BoxFiles& files,
                                 const std::string& path, const std::stop_token& gone) {
  auto source = files.open(path);
  if (source.ok()) return Source{std::move(source).value()};
  if (source.error().os_errno != EISDIR) return std::move(source).error();
  FolderZip zip = TRY(zip_folder(files, path, services.config.state_directory,
                                 {kFolderBytesMax, share::kShareBytesMax}, gone));
  std::string note = told_of_left_out(zip) + named_left_out(zip);
  return Source{std::move(zip.file), std::move(zip.filename), std::move(note)};
}

}  // namespace

mcp::Tool share_tool(const Services& services) {
  Definition definition{
      "share_file",
      "Share a file",
      "Gives a file to the user, or a folder as a zip file: copies it out of the session and "
      "returns where it is.",
      {path_argument("relative to /workspace, or absolute"),
       session_argument(),
       {.name = "filename", .description = "for the user; default: its own", .most = 1000},
       {.name = "expires_in_seconds",
        .type = Argument::Type::kInteger,
        .description = "default 604800",
        .least = 1,
        .most = share::kExpirySecondsMax}},
      object_schema({{"id", "string"},
                     {"filename", "string"},
                     {"bytes", "integer"},
                     {"created_at", "string"},
                     {"mime_type", "string"},
                     {"sha256", "string"},
                     {"url", "string"},
                     {"page_url", "string"},
                     {"host_path", "string"},
                     {"expires_at", "string"},
                     {"note", "string"}},
                    {"id", "filename", "bytes", "created_at", "mime_type", "sha256"}),
      {.read_only = false, .destructive = false, .idempotent = false}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const sessions::Session session =
            TRY(resolve(services, arguments, context, NewSession::kUseless)).session;
        const auto files = TRY(files_of(services, session));
        const Source source =
            TRY(open_source(services, files, arguments.text("path"), context.cancelled()));
        share::PublishRequest request;
        request.session_id = session.id;
        request.principal_id = context.principal().id;
        request.source_path = to_utf8(arguments.text("path"));
        request.filename = to_utf8(arguments.text("filename", source.filename));
        request.expires_in_seconds = arguments.integer("expires_in_seconds", 7 * 86400);
        const sessions::Share shared = TRY(services.share.publish(source.file.get(), request));
        if (services.changes != nullptr) {
          services.changes->resources_changed(context.principal().id);
        }
        return reply_of(shared, services, source.note);
      });
}

}  // namespace tools
