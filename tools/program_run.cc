#include "tools/program_run.h"

#include <algorithm>
#include <stop_token>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sandbox/session_parts.h"
#include "sessions/follow.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "tools/text_window.h"

namespace tools {

using sessions::RunState;

namespace {

struct Character {
  std::size_t bytes;    // as it was written
  std::size_t printed;  // in JSON
};

// Returns the one at the start of `bytes`, of which there is one at least.
Character first_character(std::string_view bytes) {
  const std::size_t size = character_size(bytes);
  if (size == 0) return {1, 3};  // U+FFFD
  if (size > 1) return {size, size};
  constexpr std::string_view kShortEscapes = "\"\\\n\r\t\b\f";
  const char byte = bytes.front();
  if (kShortEscapes.find(byte) != kShortEscapes.npos) return {1, 2};
  return {1, static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f ? std::size_t{6} : 1};
}

// Returns how many bytes at the start fit into so much that is printed.
std::size_t head_of(std::string_view bytes, std::size_t room) {
  std::size_t end = 0;
  while (end < bytes.size()) {
    const Character next = first_character(bytes.substr(end));
    if (next.printed > room) break;
    room -= next.printed;
    end += next.bytes;
  }
  return end;
}

// Returns where the longest end begins that fits into so much that is printed.
std::size_t tail_of(std::string_view bytes, std::size_t room) {
  std::size_t printed = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const Character next = first_character(bytes.substr(at));
    printed += next.printed;
    at += next.bytes;
  }
  std::size_t begin = broken_start(bytes);
  printed -= begin * 3;
  while (printed > room) {
    const Character next = first_character(bytes.substr(begin));
    printed -= next.printed;
    begin += next.bytes;
  }
  return begin;
}

// Reads a stream of so many bytes, or its head and tail. Returns whether that is not all.
base::Result<bool> read_stream(const Services& services, const RunState& state, const char* name,
                               std::int64_t bytes, std::string& text) {
  if (bytes == 0) return false;
  const auto read = [&](std::int64_t offset, std::size_t most) {
    return services.run_files.read(state.session_id, state.run.run_id, name, offset, most);
  };
  const auto size = static_cast<std::size_t>(bytes);
  std::string head = TRY(read(0, std::min(size, kStreamBytesMax)));
  if (size <= kStreamBytesMax && head_of(head, kStreamBytesMax) == head.size()) {
    text = to_utf8(head);
    return false;
  }
  constexpr std::size_t kRoom = kStreamBytesMax - std::size_t{2} * kLeftOutLineBytes;
  head.resize(head_of(head, head_share(kRoom)));
  const std::size_t tail_bytes = std::min(size - head.size(), kRoom - head_share(kRoom));
  std::string tail = TRY(read(bytes - static_cast<std::int64_t>(tail_bytes), tail_bytes));
  tail.erase(0, tail_of(tail, kRoom - head_share(kRoom)));
  text = to_utf8(head) + left_out_line(size - head.size() - tail.size()) + to_utf8(tail);
  return true;
}

}  // namespace

base::Error is_stopping(const std::string& run_id) {
  return base::error(base::Error::Kind::kUnavailable,
                     "hutch is being stopped; " + run_id + " goes on");
}

base::Result<Seen> look_at(const Services& services, RunState state) {
  Seen seen;
  seen.output_is_cut =
      TRY(read_stream(services, state, "stdout", state.run.stdout_bytes, seen.output));
  seen.errors_are_cut =
      TRY(read_stream(services, state, "stderr", state.run.stderr_bytes, seen.errors));
  seen.run = std::move(state.run);
  return seen;
}

void add_cut(nlohmann::json& answer, const Seen& seen, const CutWords& words) {
  const auto add = [&](const std::string& stream, bool is_cut, std::int64_t bytes) {
    if (!is_cut) return;
    answer["truncated"] = true;
    answer[stream + words.bytes] = bytes;
    answer[stream + words.file] = sandbox::run_file(seen.run.run_id, stream);
  };
  add("stdout", seen.output_is_cut, seen.run.stdout_bytes);
  add("stderr", seen.errors_are_cut, seen.run.stderr_bytes);
}

base::Result<RunState> wait_for_end(const Services& services, const sessions::Session& session,
                                    RunState state, const std::stop_token& gone) {
  const std::string id = state.run.run_id;
  auto followed =
      TRY(sessions::follow(services.runs, services.run_files, session.principal_id,
                           std::move(state), {.gone = gone, .draining = services.draining}));
  using End = sessions::Followed::End;
  if (followed.end == End::kGone) {
    (void)services.runs.cancel(session.principal_id, id);
    return base::error(base::Error::Kind::kUnavailable, "the client has gone");
  }
  if (followed.end == End::kDraining) return is_stopping(id);
  return std::move(followed.state);
}

base::Result<Seen> run_to_its_end(const Services& services, const sessions::Session& session,
                                  sandbox::RunRequest request, const std::stop_token& gone) {
  RunState state = TRY(services.runs.start(session, std::move(request)));
  state = TRY(wait_for_end(services, session, std::move(state), gone));
  return look_at(services, std::move(state));
}

base::Result<std::string> command_line(const std::vector<std::string>& words,
                                       const std::string& cwd) {
  std::string line = "( ";
  // "-" is another directory's name.
  const std::string directory = cwd.empty() || cwd.starts_with('/') ? cwd : "./" + cwd;
  if (!cwd.empty()) line += "CDPATH= cd -- " + base::quoted_for_shell(directory) + " && ";
  line += "exec --";
  for (const std::string& word : words) line += " " + base::quoted_for_shell(word);
  if (line.find('\0') == std::string::npos) return line + " )";
  return base::error(base::Error::Kind::kInvalid,
                     "NUL can be in no word of a command, and no path");
}

}  // namespace tools
