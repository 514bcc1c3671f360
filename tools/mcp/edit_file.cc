// edit_file: one piece of text of a file in place of another.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/box_path.h"
#include "sessions/boxes.h"
#include "sessions/session.h"
#include "tools/mcp/call_session.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using sandbox::files::shown_path;

namespace {

constexpr std::int64_t kTextMostBytes = 1 << 20;
constexpr std::size_t kLinesNamedMax = 10;
constexpr int kAttemptsMax = 5;  // to edit, while the code changes the file
// Longer ones are not looked for by what they resemble, which takes time.
constexpr std::size_t kFoldedMaxBytes = 64 << 10;
// Up to this, a search that compares at each place takes no longer than one that prepares itself.
constexpr std::size_t kShortMaxBytes = 32;

// The next place at or behind `from`, or npos. In linear time, whatever the two are: both may be
// megabytes that somebody has chosen.
std::size_t next_place(const std::string& text, const std::string& wanted, std::size_t from) {
  if (wanted.size() <= kShortMaxBytes) return text.find(wanted, from);
  const void* found =
      ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::vector<std::size_t> places_of(const std::string& text, const std::string& wanted) {
  std::vector<std::size_t> places;
  for (std::size_t at = next_place(text, wanted, 0); at != std::string::npos;
       at = next_place(text, wanted, at + wanted.size())) {
    places.push_back(at);
  }
  return places;
}

// "lines 3, 17 and 40", each counted from 1.
std::string lines_of(const std::string& text, const std::vector<std::size_t>& places) {
  std::string names;
  std::int64_t line = 1;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < places.size() && i < kLinesNamedMax; ++i) {
    const auto from = text.begin() + static_cast<std::ptrdiff_t>(counted);
    line += std::count(from, text.begin() + static_cast<std::ptrdiff_t>(places[i]), '\n');
    counted = places[i];
    base::append_part(names, std::to_string(line));
  }
  if (places.size() > kLinesNamedMax) base::append_part(names, "…");
  return (places.size() == 1 ? "line " : "lines ") + names;
}

bool is_blank(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

// Without blanks and line ends, A to Z as a to z: what is remembered of a text.
std::string folded(const std::string& text) {
  std::string rest;
  for (const char character : text) {
    if (!is_blank(character)) rest += base::lower(character);
  }
  return rest;
}

// Where what folds to the same begins.
std::vector<std::size_t> places_alike(const std::string& text, const std::string& wanted) {
  const std::string sought = folded(wanted);
  if (sought.empty() || sought.size() > kFoldedMaxBytes) return {};
  std::vector<std::size_t> places = places_of(folded(text), sought);
  std::size_t at = 0;
  std::size_t seen = 0;  // characters of the folded text
  for (std::size_t& place : places) {
    while (is_blank(text[at]) || seen < place) seen += is_blank(text[at++]) ? 0 : 1;
    place = at;
  }
  return places;
}

// Says where something like `wanted` stands, for whoever has remembered the text wrongly; empty
// where nothing like it does.
std::string nearest(const std::string& text, const std::string& wanted) {
  const auto alike = places_alike(text, wanted);
  if (!alike.empty()) {
    return "; but for blanks and letter case it is there, from " + lines_of(text, alike) + " on";
  }
  std::string first = wanted.substr(0, wanted.find('\n'));
  first.erase(0, first.find_first_not_of(" \t"));
  auto near = first.empty() ? std::vector<std::size_t>() : places_of(text, first);
  if (!near.empty()) return "; its first line alone is in " + lines_of(text, near);
  near = places_alike(text, first);
  if (near.empty()) return "";
  return "; its first line alone is, but for blanks and letter case, in " + lines_of(text, near);
}

bool ends_lines_with_crlf(const std::string& text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  return lines > 0 && lines == static_cast<std::ptrdiff_t>(places_of(text, "\r\n").size());
}

// Returns `text` with the line ends of the file: a model writes "\n" anew, whatever the lines that
// it has read end with. A text with "\r" stays as it is.
std::string with_line_ends_of(const std::string& file, const std::string& text) {
  if (text.find('\r') != std::string::npos || !ends_lines_with_crlf(file)) return text;
  std::string result;
  for (const char character : text) {
    if (character == '\n') result += '\r';
    result += character;
  }
  return result;
}

Error not_there(const std::string& path, const std::string& text, const std::string& wanted) {
  return base::error(
      Error::Kind::kNotFound,
      shown_path(path) + ": old_text is not in the file" + nearest(text, wanted) +
          (to_utf8(text) == text ? "; read_file shows what is there, and every space counts"
                                 : "; the file is no UTF-8 text: edit it with run_code"));
}

std::string replaced(const std::string& text, const std::vector<std::size_t>& places,
                     std::size_t old_bytes, const std::string& replacement) {
  std::string result;
  std::size_t from = 0;
  for (const std::size_t place : places) {
    result.append(text, from, place - from).append(replacement);
    from = place + old_bytes;
  }
  return result.append(text, from);
}

// Returns nothing where the file has changed since it was read; it is then left as it is.
base::Result<std::optional<Reply>> edit_once(const Services& services,
                                             const sessions::Session& session,
                                             const sandbox::files::BoxFiles& files,
                                             const Arguments& arguments,
                                             std::shared_ptr<const void>& room) {
  const auto read = TRY(files.read(arguments.text("path"), 0, sandbox::files::kReadBytesMax));
  if (read.total_bytes > sandbox::files::kReadBytesMax) {
    return base::error(Error::Kind::kLimit,
                       shown_path(read.path) + " has " + std::to_string(read.total_bytes) +
                           " bytes, at most " + std::to_string(sandbox::files::kReadBytesMax) +
                           " can be edited; use run_code");
  }
  const std::string wanted = with_line_ends_of(read.content, arguments.text("old_text"));
  const auto places = places_of(read.content, wanted);
  if (places.empty()) return not_there(read.path, read.content, wanted);
  if (places.size() > 1 && !arguments.boolean("all", false)) {
    return base::error(Error::Kind::kConflict,
                       shown_path(read.path) + ": old_text is there " +
                           std::to_string(places.size()) + " times, in " +
                           lines_of(read.content, places) +
                           "; take in more of the text around it, or set all");
  }
  const std::string replacement = with_line_ends_of(read.content, arguments.text("new_text"));
  const std::size_t bytes =
      read.content.size() + places.size() * replacement.size() - places.size() * wanted.size();
  if (bytes > static_cast<std::size_t>(sandbox::files::kReadBytesMax)) {
    return base::error(Error::Kind::kLimit, shown_path(read.path) + " would have " +
                                                std::to_string(bytes) + " bytes, at most " +
                                                std::to_string(sandbox::files::kReadBytesMax) +
                                                " are allowed; nothing was changed");
  }
  const std::string content = replaced(read.content, places, wanted.size(), replacement);
  const auto grows =
      static_cast<std::int64_t>(content.size()) - static_cast<std::int64_t>(read.content.size());
  room = nullptr;  // lets go of the attempt before
  room = TRY(take_disk_room(services, session, files, read.path, grows));
  const auto result = files.write(arguments.text("path"), content,
                                  sandbox::files::WriteMode::kOverwrite, read.state);
  if (!result.ok() && result.error().kind == Error::Kind::kUnavailable) {
    return std::optional<Reply>();
  }
  const auto written = TRY(result);
  const auto record = TRY(record_written(services, session, files, written, content));
  Reply reply;
  reply.structured = nlohmann::json{{"path", record.path},
                                    {"bytes", written.bytes},
                                    {"sha256", *record.sha256},
                                    {"replacements", places.size()}};
  reply.text = "edited " + one_line(record.path) + ": " + std::to_string(places.size()) +
               " replaced, in " + lines_of(read.content, places) + " (" +
               std::to_string(written.bytes) + " bytes)";
  return std::optional<Reply>(std::move(reply));
}

// Edits the file so that what another tool or the code has written since it was read stays: it is
// then read anew, and edited with that. Fails with kUnavailable after kAttemptsMax attempts.
base::Result<Reply> edit(const Services& services, const sessions::Session& session,
                         const Arguments& arguments) {
  const auto files = TRY(files_of(services, session));
  std::shared_ptr<const void> room;  // given back, for which a box may be asked, without the lock
  const auto lock = services.boxes.lock_of_files(session);
  const std::lock_guard one_at_a_time(*lock);
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    auto reply = TRY(edit_once(services, session, files, arguments, room));
    if (reply) return std::move(*reply);
  }
  return base::error(Error::Kind::kUnavailable,
                     one_line(arguments.text("path")) +
                         " changes faster than it can be edited: try again when what writes it has "
                         "ended; nothing was changed");
}

}  // namespace

mcp::Tool edit_file(const Services& services) {
  const Definition definition{
      "edit_file",
      "Edit a file",
      "Replaces old_text, which must be there exactly once unless all is set.",
      {path_argument(""),
       {.name = "old_text",
        .required = true,
        .least = 1,
        .most = kTextMostBytes,
        .is_content = true},
       {.name = "new_text", .required = true, .most = kTextMostBytes, .is_content = true},
       session_argument(),
       {.name = "all", .type = Argument::Type::kBoolean}},
      object_schema({{"path", "string"},
                     {"bytes", "integer"},
                     {"sha256", "string"},
                     {"replacements", "integer"},
                     {"note", "string"}},
                    {"path", "bytes", "sha256", "replacements"}),
      {.read_only = false, .destructive = true, .idempotent = false}};
  return make_tool(
      services, definition,
      [services](const Arguments& arguments, mcp::CallContext& context) -> base::Result<Reply> {
        const sessions::Session session =
            TRY(resolve(services, arguments, context, NewSession::kUseless)).session;
        return edit(services, session, arguments);
      });
}

}  // namespace tools
