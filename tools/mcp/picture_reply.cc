#include "tools/mcp/picture_reply.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/random_id.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/files/box_path.h"
#include "share/mime.h"
#include "tools/program_run.h"
#include "tools/scopes.h"
#include "tools/text_window.h"

namespace tools {

using base::Error;
using nlohmann::json;
using sandbox::files::BoxFiles;
using sandbox::files::shown_path;

namespace {

constexpr std::int64_t kDrawSeconds = 30;
constexpr std::size_t kToldCharactersMax = 200;
// The program clears it of what is older than a few minutes.
constexpr const char* kFolder = "/home/user/.cache/hutch-pictures/";
// The environment's Python, where the session has one: it is first on bash's PATH.
constexpr const char* kPython = "python3";
constexpr const char* kProgram = "/run/hutch/runners/python/pictures.py";
constexpr const char* kJpeg = "image/jpeg";
constexpr std::string_view kDrawnFirst[] = {"image/heic",
                                            "image/heif",
                                            "image/avif",
                                            "image/bmp",
                                            "image/x-ms-bmp",
                                            "image/tiff",
                                            "image/vnd.microsoft.icon",
                                            "image/x-icon",
                                            "image/jp2",
                                            "image/x-portable-bitmap",
                                            "image/x-portable-greymap",
                                            "image/x-portable-pixmap",
                                            "image/x-tga",
                                            "image/vnd.adobe.photoshop"};

struct Smaller {
  std::string jpeg;     // empty: it could not be drawn
  std::string why;      // there is none
  std::string printed;  // by the program: what it has drawn of what, in numbers
  std::string run_id;
};

// Returns `how` it was drawn and how large both are, in words. `printed` is hostile: its numbers
// are width and height of what was drawn and of the whole, and how many frames that has.
std::string drawn_in_words(const std::string& how, const std::string& printed) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : base::split(base::trim(printed, "\n"), ' ')) {
    numbers.push_back(base::number_of<std::int64_t>(word).value_or(-1));
  }
  if (numbers.size() != 5 || std::ranges::min(numbers) < 0) return how;
  const auto pixels = [&numbers](std::size_t at) {
    return std::to_string(numbers[at]) + " x " + std::to_string(numbers[at + 1]);
  };
  const bool is_smaller = pixels(0) != pixels(2);
  std::string said = is_smaller ? how + ": " + pixels(0) + " pixels of " + pixels(2)
                                : "drawn as a JPEG of " + pixels(0) + " pixels";
  if (numbers[4] > 1) said += ", the first of " + std::to_string(numbers[4]) + " frames";
  return said;
}

// Says whether drawing waits where the session's places for work in the background are all taken.
enum class Places { kWaitForRun, kDoWithout };

// The session may put anything in place of the program and of what that has written.
base::Result<Smaller> draw_smaller(const Services& services, const sessions::Session& session,
                                   const BoxFiles& files, const std::string& path, Places places,
                                   mcp::CallContext& context) {
  const std::string target = kFolder + base::random_id("picture_") + ".jpg";
  sandbox::RunRequest request;
  request.language = sandbox::Language::kBash;
  request.code = TRY(
      command_line({kPython, kProgram, base::in_hex(path), target, std::to_string(kImagesBytesMax)},
                   /*cwd=*/"/"));
  request.background = true;  // else it would wait for the run that is on
  request.timeout_seconds = kDrawSeconds;
  request.trace.mark(sandbox::Hop::kCalled, context.received_at());
  auto ended = run_to_its_end(services, session, request, context.cancelled());
  const bool are_taken = !ended.ok() && ended.error().kind == Error::Kind::kLimit;
  if (are_taken && places == Places::kWaitForRun) {
    request.background = false;  // its places are the user's: then it waits
    ended = run_to_its_end(services, session, std::move(request), context.cancelled());
  }
  const Seen seen = TRY(std::move(ended));
  const auto told = [](std::string_view text) {
    while (text.ends_with('\n')) text.remove_suffix(1);
    return one_line(base::shortened(text, kToldCharactersMax));
  };
  if (seen.run.status != sandbox::RunStatus::kCompleted) {
    const bool has_said = !seen.errors.empty() || !seen.run.error;
    return Smaller{"", told(has_said ? seen.errors : seen.run.error->message), "", ""};
  }
  auto read = TRY(files.read(target, 0, kImagesBytesMax));
  if (read.total_bytes > kImagesBytesMax || share::mime_type_of(read.content, target) != kJpeg) {
    return Smaller{"", "the session's python3 made no picture of it (" + seen.run.run_id + ")", "",
                   ""};
  }
  return Smaller{std::move(read.content), "", seen.output, seen.run.run_id};
}

void add_image(Reply& reply, const std::string& picture, const std::string& mime_type) {
  reply.structured["bytes"] = picture.size();
  reply.more->push_back(
      {{"type", "image"}, {"data", base::to_base64(picture)}, {"mimeType", mime_type}});
}

Reply reply_of(const sandbox::files::ReadResult& file, const std::string& mime_type) {
  const std::string shown = shown_path(file.path);
  Reply reply;
  reply.structured =
      json{{"path", shown},          {"bytes", 0},           {"total_bytes", file.total_bytes},
           {"mime_type", mime_type}, {"encoding", "base64"}, {"content", ""}};
  reply.text = one_line(shown) + ": " + mime_type + ", " + std::to_string(file.total_bytes) +
               " bytes, as an image";
  return reply;
}

Reply with_drawn(Reply reply, const std::string& how, const Smaller& drawn) {
  const std::string note = drawn_in_words(how, drawn.printed) + " (" + drawn.run_id + ")";
  reply.structured["note"] = note;
  reply.text += ", " + note;
  add_image(reply, drawn.jpeg, kJpeg);
  return reply;
}

}  // namespace

bool is_picture(const std::string& mime_type) {
  return mime_type == "image/png" || mime_type == "image/jpeg" || mime_type == "image/gif" ||
         mime_type == "image/webp";
}

base::Result<Reply> picture_reply(const Services& services, const sessions::Session& session,
                                  const BoxFiles& files, const std::string& path,
                                  const std::string& mime_type, mcp::CallContext& context) {
  const auto whole = TRY(files.read(path, 0, kImagesBytesMax));
  Reply reply = reply_of(whole, mime_type);
  if (whole.total_bytes <= kImagesBytesMax) {
    add_image(reply, whole.content, mime_type);
    return reply;
  }
  // A token that may only read starts no run.
  Smaller smaller{"", "the token of this client may only read", "", ""};
  if (may_change(context.principal().scopes)) {
    smaller = TRY(draw_smaller(services, session, files, whole.path, Places::kWaitForRun, context));
  }
  if (smaller.jpeg.empty()) {
    return base::error(Error::Kind::kInvalid,
                       shown_path(whole.path) + ": " + mime_type + " of " +
                           std::to_string(whole.total_bytes) + " bytes is too large to be shown (" +
                           std::to_string(kImagesBytesMax) +
                           " at most), and not drawn smaller: " + smaller.why +
                           ". share_file gives it to the user; encoding base64 reads its bytes");
  }
  return with_drawn(std::move(reply), "drawn smaller", smaller);
}

bool is_drawn_first(const std::string& mime_type) {
  return std::ranges::find(kDrawnFirst, mime_type) != std::end(kDrawnFirst);
}

base::Result<std::optional<Reply>> redrawn_reply(const Services& services,
                                                 const sessions::Session& session,
                                                 const BoxFiles& files, const std::string& path,
                                                 const std::string& mime_type,
                                                 mcp::CallContext& context) {
  if (!may_change(context.principal().scopes)) return std::optional<Reply>();
  const auto file = TRY(files.read(path, 0, 1));
  // Its bytes are an answer too, which is neither waited for nor lost because it is not drawn.
  const auto drawn = draw_smaller(services, session, files, file.path, Places::kDoWithout, context);
  if (!drawn.ok() || drawn.value().jpeg.empty()) return std::optional<Reply>();
  return std::optional(with_drawn(reply_of(file, mime_type), "drawn as JPEG", drawn.value()));
}

}  // namespace tools
