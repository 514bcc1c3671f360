#include "tools/mcp/sandbox_resources.h"

#include <unistd.h>

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/clock.h"
#include "sandbox/files/box_files.h"
#include "sandbox/run.h"
#include "sessions/boxes.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_lists.h"
#include "sessions/sessions.h"
#include "sessions/share_table.h"
#include "share/mime.h"
#include "tools/sandbox_uri.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools {

using nlohmann::json;
using sandbox::files::BoxFiles;

namespace {

constexpr std::size_t kListedMax = 1000;
constexpr std::int64_t kSessionsLookedAt = 10;  // the last used
constexpr std::int64_t kRunsLookedAt = 10;      // the newest, in each
constexpr std::int64_t kReadBytesMax = 4 << 20;

bool is_text(const std::string& content, const std::string& mime_type) {
  for (const char* kind : {"image/", "audio/", "video/"}) {
    if (mime_type.starts_with(kind) && mime_type != "image/svg+xml") return false;
  }
  return content.find('\0') == std::string::npos && to_utf8(content) == content;
}

mcp::ReadAnswer contents_of(const std::string& uri, const std::string& path,
                            const std::string& content) {
  const std::string mime_type = share::mime_type_of(content, path);
  json one = {{"uri", uri}, {"mimeType", mime_type}};
  if (is_text(content, mime_type)) {
    one["text"] = content;
  } else {
    one["blob"] = base::to_base64(content);
  }
  mcp::ResourceContents read;
  read.contents->push_back(std::move(one));
  return read;
}

mcp::RpcError refusal(const std::string& uri, const std::string& why) {
  return {mcp::kInvalidParams, to_utf8(why), json{{"uri", uri}}, nullptr};
}

mcp::RpcError too_large(const std::string& uri, std::int64_t bytes) {
  return refusal(uri, "the file has " + std::to_string(bytes) + " bytes, at most " +
                          std::to_string(kReadBytesMax) +
                          " are given as a resource: use read_file");
}

mcp::ReadAnswer read_directory(const BoxFiles& files, const std::string& uri,
                               const std::string& path) {
  const auto listed = files.list(path, {});
  if (!listed.ok()) {
    if (listed.error().kind == base::Error::Kind::kNotFound) return mcp::NotFound{};
    return refusal(uri, listed.error().message);
  }
  std::string text;
  for (const auto& entry : listed.value().entries) {
    text += entry.type + " " + std::to_string(entry.bytes) + " " +
            base::to_rfc3339(entry.modified_at_ms) + " " + one_line(entry.path) + "\n";
  }
  if (listed.value().truncated) text += "... and more\n";
  mcp::ResourceContents read;
  read.contents->push_back({{"uri", uri}, {"mimeType", "inode/directory"}, {"text", text}});
  return read;
}

json resource_of(const std::string& uri, const std::string& name, const std::string& mime_type,
                 std::int64_t bytes, std::int64_t modified_at_ms) {
  json resource = {{"uri", uri},
                   {"name", name},
                   {"size", bytes},
                   {"annotations", {{"lastModified", base::to_rfc3339(modified_at_ms)}}}};
  if (!mime_type.empty()) resource["mimeType"] = mime_type;
  return resource;
}

}  // namespace

void SandboxResources::add_shared(const std::string& principal_id, json& items) const {
  const auto shares = services_.share_table.list(principal_id);
  if (!shares.ok()) return;
  for (const sessions::Share& one : shares.value()) {
    if (items.size() >= kListedMax) return;
    if (one.expires_at && *one.expires_at <= base::now_ms()) continue;
    items.push_back(resource_of(sandbox_uri(kSharedAuthority, "/" + one.id + "/" + one.filename),
                                one.filename, one.mime_type, one.bytes, one.created_at));
  }
}

void SandboxResources::add_written(const std::string& principal_id, json& items) const {
  const auto found = services_.session_lists.newest(principal_id, false, kSessionsLookedAt);
  if (!found.ok()) return;
  for (const sessions::Session& session : found.value()) {
    const auto runs = services_.run_table.of_session(session.id, kRunsLookedAt);
    if (!runs.ok()) continue;
    std::set<std::string> seen;  // a newer run has said what became of it
    for (const sessions::Run& row : runs.value()) {
      const auto run = services_.run_table.end_of(row.id);
      if (!run.ok() || !run.value()) continue;
      for (const sandbox::FileChange& change : run.value()->files_changed) {
        if (!seen.insert(change.path).second || change.change == "deleted") continue;
        if (items.size() >= kListedMax) return;
        const std::string name = to_utf8(change.path.substr(change.path.rfind('/') + 1));
        items.push_back(resource_of(sandbox_uri(session.id, change.path), name,
                                    share::mime_type_of_name(change.path), change.bytes,
                                    run.value()->finished_at_ms));
      }
    }
  }
}

std::optional<mcp::Page> SandboxResources::list(const std::string& cursor,
                                                mcp::CallContext& context) {
  const auto begin = offset_of_page(cursor, kPageSize);
  if (!begin) return std::nullopt;
  json all = json::array();
  add_shared(context.principal().id, all);
  add_written(context.principal().id, all);
  mcp::Page page;
  // Entries that have come or gone since the last page have moved the others: a client that must
  // not miss any is told of the change.
  for (std::size_t i = *begin; i < std::min(all.size(), *begin + kPageSize); ++i) {
    page.items->push_back(std::move(all[i]));
  }
  if (all.size() > *begin + kPageSize) page.next_cursor = std::to_string(*begin + kPageSize);
  return page;
}

json SandboxResources::templates() {
  return {{{"uriTemplate", kFileTemplate},
           {"name", "sandbox-file"},
           {"title", "A file or directory of a session"},
           {"description", "path without its leading slash, for example workspace/plot.png"}}};
}

mcp::ReadAnswer SandboxResources::read_shared(const std::string& uri, const std::string& path,
                                              const std::string& principal_id) const {
  const auto found = services_.share_table.find(principal_id, shared_id_of(path));
  if (!found.ok()) return mcp::NotFound{};
  if (found.value().bytes > kReadBytesMax) return too_large(uri, found.value().bytes);
  // A copy of our own, out of reach of any box.
  const auto file = services_.share.open_stored(found.value());
  std::string content(static_cast<std::size_t>(found.value().bytes), '\0');
  if (!file.ok() || ::pread(file.value().get(), content.data(), content.size(), 0) !=
                        static_cast<ssize_t>(content.size())) {
    return mcp::NotFound{};  // it has expired this moment
  }
  return contents_of(uri, found.value().filename, content);
}

mcp::ReadAnswer SandboxResources::read(const std::string& uri, mcp::CallContext& context) {
  const auto parsed = parse_sandbox_uri(uri);
  if (!parsed) return mcp::NotFound{};
  const std::string& principal_id = context.principal().id;
  if (parsed->authority == kSharedAuthority) return read_shared(uri, parsed->path, principal_id);
  const auto session = services_.sessions.find(principal_id, parsed->authority);
  if (!session.ok()) return mcp::NotFound{};
  auto root = services_.boxes.root_of(session.value());
  if (!root.ok()) return refusal(uri, root.error().message);
  const BoxFiles files = files_in(std::move(root).value(), session.value());
  const auto read = files.read(parsed->path, 0, kReadBytesMax);
  if (read.ok()) {
    if (read.value().total_bytes > kReadBytesMax) return too_large(uri, read.value().total_bytes);
    return contents_of(uri, parsed->path, read.value().content);
  }
  if (read.error().kind == base::Error::Kind::kNotFound) return mcp::NotFound{};
  return read_directory(files, uri, parsed->path);
}

mcp::Completion SandboxResources::complete_path(const mcp::CompletionQuery& query,
                                                const std::string& principal_id) const {
  mcp::Completion completion;
  const auto id = query.known.find("session_id");
  if (id == query.known.end()) return completion;
  const auto session = services_.sessions.find(principal_id, id->second);
  if (!session.ok()) return completion;
  if (query.value.find('/') == std::string::npos) {
    for (const char* place : {"workspace/", "home/user/", "tmp/"}) {
      if (std::string_view(place).starts_with(query.value)) completion.values.emplace_back(place);
    }
    return completion;
  }
  auto root = services_.boxes.root_of(session.value());
  if (!root.ok()) return completion;
  const BoxFiles files = files_in(std::move(root).value(), session.value());
  const auto listed = files.list("/" + query.value.substr(0, query.value.rfind('/') + 1), {});
  if (!listed.ok()) return completion;
  for (const auto& entry : listed.value().entries) {
    if (entry.escaped || !std::string_view(entry.path).substr(1).starts_with(query.value)) continue;
    completion.values.push_back(entry.path.substr(1) + (entry.type == "directory" ? "/" : ""));
  }
  completion.total = static_cast<std::int64_t>(completion.values.size());
  return completion;
}

std::optional<mcp::Completion> SandboxResources::complete(const std::string& uri_template,
                                                          const mcp::CompletionQuery& query,
                                                          mcp::CallContext& context) {
  if (uri_template != kFileTemplate) return std::nullopt;
  if (query.argument == "path") return complete_path(query, context.principal().id);
  if (query.argument != "session_id") return std::nullopt;
  return complete_session_id(services_, query.value, context.principal().id);
}

bool SandboxResources::can_watch(const std::string& uri) const {
  return parse_sandbox_uri(uri).has_value();
}

void SandboxResources::watch(const std::string& principal_id, const std::string& uri) {
  watch_.add({mcp::Change::Kind::kResource, uri}, principal_id);
}

void SandboxResources::settle(const std::string& principal_id) { watch_.settle(principal_id); }

void SandboxResources::unwatch(const std::string& principal_id, const std::string& uri) {
  watch_.remove({mcp::Change::Kind::kResource, uri}, principal_id);
}

}  // namespace tools
