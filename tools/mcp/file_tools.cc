// read_file, write_file, list_files.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/clock.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sessions/boxes.h"
#include "sessions/file_table.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "share/mime.h"
#include "tools/mcp/call_session.h"
#include "tools/mcp/charset.h"
#include "tools/mcp/file_hints.h"
#include "tools/mcp/picture_reply.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using nlohmann::json;
using sandbox::files::BoxFiles;
using sandbox::files::shown_path;

namespace {

constexpr std::int64_t kReadDefaultBytes = 30'000;
constexpr std::int64_t kReadMostBytes = 4 << 20;
// Characters that a content may have as JSON: a result has it twice, for models and for programs,
// and stays below 1 MiB.
constexpr std::size_t kContentCharactersMax = 380'000;
// Bytes that are shown of what is no text, where nobody has asked for them as such: more would only
// fill a model's context.
constexpr std::size_t kUnaskedBytesMax = 3'000;
// Bytes that are shown of it where the answer says what code reads the file.
constexpr std::size_t kHintedBytesMax = 300;
// Characters that a client may take into the model's context, where the model asked for that much.
constexpr int kResultCharactersMax = 400'000;
constexpr std::int64_t kContentMostBytes = 16 << 20;
// Entries that are shown below one directory, in a list that goes deeper than the directory that
// was asked for.
constexpr std::size_t kShownInADirectory = 200;
// Longer than a path that can be opened, since a list goes deeper, and no answer has a longer one.
constexpr std::int64_t kAfterBytesMax = 256 << 10;
constexpr std::int64_t kTypedBytes = kReadDefaultBytes;  // that say what a file is

// As much of it as fits a result once it is printed as JSON.
std::size_t fitting_bytes(const std::string& text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool is_short = std::string_view("\b\t\n\f\r\"\\").find(text[i]) != std::string::npos;
    characters += is_short ? 2 : byte < 0x20 ? 6 : 1;
    if (characters > kContentCharactersMax) return i;
  }
  return text.size();
}

struct Content {
  std::string text;
  std::string encoding;  // empty: no text
  std::size_t used = 0;  // bytes of the file
};

// The piece as text, if it is one. `charset` is that of other_charset_of().
Content as_text(const sandbox::files::ReadResult& read, std::int64_t offset,
                const std::optional<std::string>& charset) {
  Content content;
  std::string_view bytes = read.content;
  while (charset) {
    const auto text = decoded(*charset, bytes, static_cast<std::size_t>(offset), content.used);
    if (!text || content.used == 0) break;
    if (fitting_bytes(*text) < text->size()) {
      bytes = bytes.substr(0, bytes.size() / 2);
      continue;
    }
    content.text = *text;
    content.encoding = *charset;
    return content;
  }
  content.text = read.content;
  content.text.resize(fitting_bytes(content.text));
  const bool ends = offset + static_cast<std::int64_t>(content.text.size()) >= read.total_bytes;
  if (!ends) content.text.resize(whole_characters(content.text, content.text.size()));
  content.used = content.text.size();
  const bool is_text =
      to_utf8(content.text) == content.text && content.text.find('\0') == std::string::npos;
  if (is_text) content.encoding = "utf-8";
  return content;
}

// `bytes_max` is for what is no text.
base::Result<Reply> content_reply(sandbox::files::ReadResult read, std::int64_t offset,
                                  const std::string& encoding, std::size_t bytes_max,
                                  const std::string& mime_type,
                                  const std::optional<std::string>& charset) {
  Content content = as_text(read, offset, encoding == "auto" ? charset : std::nullopt);
  if (encoding == "utf-8" && content.encoding.empty()) {
    return base::error(Error::Kind::kInvalid, shown_path(read.path) +
                                                  ": is not UTF-8 text; use encoding base64, or "
                                                  "auto");
  }
  std::string hint = hint_of_type(mime_type, shown_path(read.path));
  // A PDF may well have no byte that text has not, and tells as little by them.
  const bool shows_text =
      encoding == "utf-8" || (encoding == "auto" && hint.empty() && !content.encoding.empty());
  if (!shows_text) {
    if (!hint.empty() && bytes_max == kUnaskedBytesMax) bytes_max = kHintedBytesMax;
    // Whole groups of three, so that the parts can be put together as they are.
    bytes_max = std::min(bytes_max, kContentCharactersMax / 4 * 3);
    if (read.content.size() > bytes_max) read.content.resize(bytes_max);
    content = {base::to_base64(read.content), "base64", read.content.size()};
  }
  const auto used = static_cast<std::int64_t>(content.used);
  Reply reply;
  reply.structured = json{{"path", shown_path(read.path)},   {"bytes", used},
                          {"total_bytes", read.total_bytes}, {"mime_type", mime_type},
                          {"encoding", content.encoding},    {"content", content.text}};
  reply.text = one_line(shown_path(read.path)) + ": " + std::to_string(used) + " of " +
               std::to_string(read.total_bytes) + " bytes, " + mime_type + ", " + content.encoding;
  if (!shows_text && encoding == "auto" && hint.empty()) {
    hint = hint_of_charsets(read.content, shown_path(read.path));
  }
  if (offset + used < read.total_bytes) {
    reply.structured["next_offset"] = offset + used;
    reply.text += ", next_offset " + std::to_string(offset + used);
    if (!shows_text && hint.empty() && used == static_cast<std::int64_t>(kUnaskedBytesMax)) {
      reply.text += "; no UTF-8 text: run_code can convert it, share_file gives it to the user";
    }
  }
  reply.text += "\n" + content.text;
  if (charset && shows_text && hint.empty()) {
    hint = hint_of_guess(content.encoding, content.text, offset);
  }
  if (!hint.empty()) add_note(reply, hint);
  return reply;
}

// Returns the beginning of the file, which tells what kind of file a piece from further on is of;
// empty where it cannot be read.
std::string beginning_of(const BoxFiles& files, const sandbox::files::ReadResult& read,
                         std::int64_t offset) {
  const auto size = static_cast<std::int64_t>(read.content.size());
  if (offset == 0 && size >= std::min(read.total_bytes, kTypedBytes)) {
    return read.content.substr(0, static_cast<std::size_t>(kTypedBytes));
  }
  auto beginning = files.read(read.path, 0, kTypedBytes);
  return beginning.ok() ? std::move(beginning).value().content : "";
}

// The end may be the middle of a character, but for that of the file.
bool is_utf8(std::string_view bytes, bool is_end) {
  if (!is_end) bytes = bytes.substr(0, whole_characters(bytes, bytes.size()));
  return to_utf8(bytes) == bytes;
}

// Returns the charset of text that is not UTF-8. Pages of ASCII at the beginning tell nothing of
// the letters that come later: then the piece itself tells.
std::optional<std::string> other_charset_of(const std::string& beginning,
                                            const sandbox::files::ReadResult& read,
                                            std::int64_t offset) {
  const auto ends_at = [&read](std::int64_t end) { return end >= read.total_bytes; };
  // Letters of ASCII in UTF-16 are UTF-8, too, with a NUL beside each.
  const bool may_be_wide = beginning.find('\0') != std::string::npos;
  if (auto wide = may_be_wide ? charset_of(beginning) : std::nullopt) return wide;
  if (!is_utf8(beginning, ends_at(static_cast<std::int64_t>(beginning.size())))) {
    return charset_of(beginning);
  }
  std::string_view piece = read.content;
  const bool is_end = ends_at(offset + static_cast<std::int64_t>(piece.size()));
  if (offset > 0) piece.remove_prefix(broken_start(piece));
  return is_utf8(piece, is_end) ? std::nullopt : charset_of(piece);
}

mcp::Tool read_file(const Services& services) {
  Definition definition{
      "read_file",
      "Read a file",
      "Reads a file of the session. Images come as images.",
      {path_argument("relative to /workspace, or absolute"),
       session_argument(),
       {.name = "offset", .type = Argument::Type::kInteger, .description = "bytes", .least = 0},
       {.name = "limit",
        .type = Argument::Type::kInteger,
        .description = "bytes; default 30000",
        .least = 4,  // room for any character, so that reading on always gets somewhere
        .most = kReadMostBytes},
       {.name = "encoding", .values = {"auto", "utf-8", "base64"}}},
      object_schema({{"path", "string"},
                     {"bytes", "integer"},
                     {"total_bytes", "integer"},
                     {"mime_type", "string"},
                     {"encoding", "string"},
                     {"content", "string"},
                     {"next_offset", "integer"},
                     {"note", "string"}},
                    {"path", "bytes", "total_bytes", "mime_type", "encoding", "content"}),
      {.read_only = true, .destructive = false, .idempotent = true},
      mcp::TaskSupport::kForbidden,
      json{{"anthropic/maxResultSizeChars", kResultCharactersMax}}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const sessions::Session session =
            TRY(resolve(services, arguments, context, NewSession::kUseless)).session;
        const BoxFiles files = TRY(files_of(services, session));
        const std::string path = arguments.text("path");
        const std::int64_t offset = arguments.integer("offset", 0);
        const std::string encoding = arguments.text("encoding", "auto");
        auto read = TRY(files.read(path, offset, arguments.integer("limit", kReadDefaultBytes)));
        const std::string beginning = beginning_of(files, read, offset);
        const std::string mime_type = share::mime_type_of(beginning, read.path);
        if (encoding == "auto" && offset == 0 && is_picture(mime_type)) {
          return picture_reply(services, session, files, path, mime_type, context);
        }
        if (encoding == "auto" && offset == 0 && is_drawn_first(mime_type)) {
          auto drawn = TRY(redrawn_reply(services, session, files, path, mime_type, context));
          if (drawn) return *std::move(drawn);
        }
        const bool asked = encoding != "auto" || offset > 0 || arguments.has("limit");
        const auto charset = other_charset_of(beginning, read, offset);
        return content_reply(std::move(read), offset, encoding,
                             asked ? kContentCharactersMax : kUnaskedBytesMax, mime_type, charset);
      });
}

sandbox::files::WriteMode mode_of(const std::string& name) {
  if (name == "append") return sandbox::files::WriteMode::kAppend;
  if (name == "create") return sandbox::files::WriteMode::kCreate;
  return sandbox::files::WriteMode::kOverwrite;
}

base::Result<std::string> content_of(const Arguments& arguments) {
  std::string content = arguments.text("content");
  if (arguments.text("encoding") == "base64") {
    auto bytes = base::from_base64_lines(content);
    if (!bytes) return base::error(Error::Kind::kInvalid, "content is not valid base64");
    content = *std::move(bytes);
  }
  if (static_cast<std::int64_t>(content.size()) <= kContentMostBytes) return content;
  return base::error(Error::Kind::kLimit, "content is " + std::to_string(content.size()) +
                                              " bytes, at most " +
                                              std::to_string(kContentMostBytes) +
                                              " are allowed: write in parts with mode append");
}

mcp::Tool write_file(const Services& services) {
  Definition definition{
      "write_file",
      "Write a file",
      "Writes a file of the session, making directories on the way. Overwriting is atomic.",
      {path_argument("relative to /workspace, or absolute"),
       {.name = "content", .required = true, .description = "at most 16 MiB", .is_content = true},
       session_argument(),
       {.name = "encoding", .values = {"utf-8", "base64"}},
       {.name = "mode",
        .description = "default overwrite; create fails if it exists",
        .values = {"overwrite", "append", "create"}}},
      object_schema({{"path", "string"},
                     {"bytes", "integer"},
                     {"sha256", "string"},
                     {"change", "string"},
                     {"note", "string"}},
                    {"path", "bytes", "change"}),
      {.read_only = false, .destructive = true, .idempotent = false}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const std::string content = TRY(content_of(arguments));
        const auto [session, is_default, is_new] = TRY(resolve(services, arguments, context));
        const BoxFiles files = TRY(files_of(services, session));
        const auto [written, record] =
            TRY(write_into(services, session, files, arguments.text("path"), content,
                           mode_of(arguments.text("mode"))));
        Reply reply;
        reply.structured =
            json{{"path", record.path}, {"bytes", written.bytes}, {"change", written.change}};
        if (record.sha256) reply.structured["sha256"] = *record.sha256;
        reply.text = written.change + " " + one_line(record.path) + " (" +
                     std::to_string(written.bytes) + " bytes)";
        if (is_new) reply.new_session_id = session.id;
        return reply;
      });
}

base::Result<std::int64_t> changed_since(const Services& services, const std::string& text,
                                         const mcp::CallContext& context) {
  // Models leave out the offset, or the time of day: that is UTC, as the times that they are shown.
  for (const char* rest : {"", "Z", "T00:00:00Z"}) {
    if (const auto time = base::from_rfc3339(text + rest)) return *time;
  }
  if (!text.starts_with("run_")) {
    return base::error(Error::Kind::kInvalid,
                       "changed_since must be a run_id or an RFC 3339 time such as "
                       "2026-01-31T12:00:00Z or 2026-01-31 (UTC)");
  }
  const auto state = TRY(services.runs.get(context.principal().id, text));
  // A run that has not started, or never did, counts from when it was asked for.
  const auto& run = state.run;
  const std::int64_t since = run.started_at_ms != 0 ? run.started_at_ms : run.queued_at_ms;
  // A file's times are those of the last tick, up to 10 ms ago (time(7)).
  return since - 10;
}

// How each of these entries has changed since then, by its path.
using Changes = std::map<std::string, std::string>;

base::Result<Changes> changes_of(const Services& services, const std::string& session_id,
                                 const sandbox::files::ListResult& listed, std::int64_t since_ms) {
  std::set<std::string> paths;
  for (const auto& entry : listed.entries) paths.insert(entry.path);
  return services.file_table.changes(session_id, since_ms, paths);
}

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The directories of a list that are one entry each, since more than kShownInADirectory would stand
// below them, and how much there is in them.
using Folded = std::map<std::string, std::size_t>;

Folded folded_in(const sandbox::files::ListResult& listed) {
  struct Below {
    std::size_t shown = 0;
    std::size_t all = 0;
  };
  std::map<std::string, Below> below;
  std::vector<std::string> directories;
  for (const auto& entry : listed.entries) {
    Below& parent = below[parent_of(entry.path)];
    ++parent.shown;
    ++parent.all;
    if (entry.type == "directory") directories.push_back(entry.path);
  }
  // The deeper ones first.
  std::sort(directories.begin(), directories.end(), [](const auto& one, const auto& other) {
    return std::count(one.begin(), one.end(), '/') > std::count(other.begin(), other.end(), '/');
  });
  Folded folded;
  for (const std::string& directory : directories) {
    const Below here = below[directory];
    Below& parent = below[parent_of(directory)];
    parent.all += here.all;
    if (here.shown > kShownInADirectory) {
      folded[directory] = here.all;
    } else {
      parent.shown += here.shown;
    }
  }
  return folded;
}

bool is_below_any(const Folded& directories, const std::string& path) {
  for (std::size_t at = path.rfind('/'); at != std::string::npos && at > 0;
       at = path.rfind('/', at - 1)) {
    if (directories.contains(path.substr(0, at))) return true;
  }
  return false;
}

// Returns the part of `path` that follows the directory; all of it where it is not below.
std::string below(const std::string& directory, const std::string& path) {
  return path.starts_with(directory + "/") ? path.substr(directory.size() + 1) : path;
}

// Returns whether a name can be taken for nothing but one: there is no line of more words, as those
// of files and the answer's own are, that it looks like.
bool is_one_word(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char byte) { return byte > ' ' && byte < 0x7f; });
}

// A directory by its slash; anything else with its bytes and its time, and with its type where it
// is no file or the list is of changes.
std::string line_of(const sandbox::files::ListResult& listed, const json& entry) {
  const std::string type = entry["type"].get<std::string>();
  const std::string name = one_line(below(listed.path, entry["path"].get<std::string>()));
  if (type == "directory" && !entry.contains("change")) {
    return (is_one_word(name) ? "" : "directory ") + name + "/";
  }
  std::string line = type == "file" && !entry.contains("change") ? "" : type + " ";
  if (type != "directory") line += entry["bytes"].dump() + " ";
  line += without_fraction(entry["modified_at"].get<std::string>()) + " ";
  if (entry.contains("change")) line += entry["change"].get<std::string>() + " ";
  return line + name + (type == "directory" ? "/" : "");
}

// A list of a directory that was named has an entry for all that is there.
enum class Extent { kFolded, kWhole };

// Says how to go on behind what is shown, or how to see more where entries may be missing anywhere.
// Where directories are folded nothing can follow: what is in them comes behind them.
std::string told_of_rest(const sandbox::files::ListResult& listed, const json& reply) {
  const auto next = reply.find("next_after");
  if (next != reply.end()) {
    return " (truncated: go on with after " + next->dump() + ")";
  }
  if (listed.truncated && !listed.goes_on) {
    return " (truncated: list a directory below, or with changed_since)";
  }
  return " (truncated: with path " + json(shown_path(listed.path)).dump() + " all is listed)";
}

Reply reply_of_list(const sandbox::files::ListResult& listed, const std::optional<Changes>& changes,
                    Extent extent) {
  Reply reply;
  json entries = json::array();
  std::size_t characters = 0;
  const auto folded = extent == Extent::kFolded ? folded_in(listed) : Folded();
  bool is_cut = listed.truncated;
  for (const auto& entry : listed.entries) {
    if (is_below_any(folded, entry.path)) continue;
    const std::string modified = base::to_rfc3339(entry.modified_at_ms);
    json shown = {{"path", entry.path},
                  {"type", entry.type},
                  {"bytes", entry.bytes},
                  {"modified_at", modified}};
    if (changes) {
      // One that no run has been recorded for yet has changed all the same.
      const auto known = changes->find(entry.path);
      shown["change"] = known == changes->end() ? "modified" : known->second;
    }
    std::string line = line_of(listed, shown);
    if (const auto directory = folded.find(entry.path); directory != folded.end()) {
      shown["entries"] = directory->second;
      line += std::string(" with ") + (listed.truncated ? "at least " : "") +
              std::to_string(directory->second) + " entries";
    }
    characters += shown.dump().size() + 1;
    if (characters > kListCharacters && !entries.empty()) {
      is_cut = true;
      break;
    }
    entries.push_back(std::move(shown));
    reply.text += line + "\n";
  }
  json structured = {{"path", shown_path(listed.path)}, {"truncated", is_cut}};
  const bool lacks_only_the_rest = is_cut && (listed.goes_on || !listed.truncated);
  if (lacks_only_the_rest && folded.empty() && !entries.empty()) {
    structured["next_after"] = entries.back()["path"];
  }
  reply.text = one_line(shown_path(listed.path)) +
               (structured.contains("next_after") ? ": the next " : ": ") +
               std::to_string(entries.size()) + " entries" +
               (is_cut ? told_of_rest(listed, structured) : "") + "\n" + reply.text;
  if (!folded.empty()) {
    reply.text += "list_files with the path of a directory shows what is in it\n";
  }
  structured["entries"] = std::move(entries);
  reply.structured = std::move(structured);
  return reply;
}

base::Result<Reply> call_list_files(const Services& services, const Arguments& arguments,
                                    mcp::CallContext& context) {
  sandbox::files::ListOptions options;
  options.recursive = arguments.boolean("recursive", false);
  options.after = arguments.text("after");
  const bool is_whole = arguments.has("path") || !options.after.empty();
  // Entries of a folded directory are counted before it is one.
  if (!is_whole) options.max_entries = sandbox::files::kListEntriesMax;
  if (arguments.has("changed_since")) {
    options.changed_since_ms =
        TRY(changed_since(services, arguments.text("changed_since"), context));
  }
  const sessions::Session session =
      TRY(resolve(services, arguments, context, NewSession::kUseless)).session;
  const BoxFiles files = TRY(files_of(services, session));
  const auto listed = TRY(files.list(arguments.text("path", session.working_directory), options));
  std::optional<Changes> changes;
  if (options.changed_since_ms) {
    changes = TRY(changes_of(services, session.id, listed, *options.changed_since_ms));
  }
  return reply_of_list(listed, changes, is_whole ? Extent::kWhole : Extent::kFolded);
}

mcp::Tool list_files(const Services& services) {
  Definition definition{
      "list_files",
      "List files",
      "Lists a directory of the session. Without path, large ones below it are only counted.",
      {session_argument(),
       {.name = "path", .description = "default /workspace", .most = 4096},
       {.name = "recursive", .type = Argument::Type::kBoolean},
       {.name = "changed_since", .description = "a run_id or RFC 3339 time", .most = 200},
       {.name = "after", .description = "next_after of the last answer", .most = kAfterBytesMax}},
      object_schema({{"path", "string"},
                     {"entries", "array"},
                     {"truncated", "boolean"},
                     {"next_after", "string"}},
                    {"path", "entries"}),
      {.read_only = true, .destructive = false, .idempotent = true}};
  return make_tool(services, definition,
                   [services](const Arguments& arguments, mcp::CallContext& context) {
                     return call_list_files(services, arguments, context);
                   });
}

}  // namespace

std::vector<mcp::Tool> file_tools(const Services& services) {
  return {read_file(services), write_file(services), edit_file(services), list_files(services)};
}

}  // namespace tools
