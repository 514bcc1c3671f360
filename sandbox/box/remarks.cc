#include "sandbox/box/remarks.h"

#include <signal.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/text.h"
#include "sandbox/box/refusals.h"

namespace sandbox::box {
namespace {

constexpr const char* kByNameOnly =
    "this session reaches allowed hosts by their names, never by an address";
constexpr const char* kOtherPort =
    "this session reaches allowed hosts by their names, never by an address, and only on the ports "
    "of their rules: 80 and 443 unless one is named (--allow HOST:PORT)";
constexpr const char* kManyProcesses =
    "the session's limit of processes and threads was reached: the processes that this run had "
    "started were ended; start fewer, or create_session with more (limits.processes)";

constexpr const char* kNoShadow =
    "the sanitizers of addresses and of threads reserve terabytes of address space, and no process "
    "of a session may have so much: -fsanitize=undefined works here, these two do not";

constexpr const char* kNoVariables =
    "a background run is a process of its own: it sees the session's files, not its variables";

std::string full_memory(std::int64_t memory_mb) {
  return "this session's processes may use " + std::to_string(memory_mb) +
         " MB of memory together: free what is not needed, or create_session with more "
         "(limits.memory_mb), which begins without this one's files and variables";
}

std::string full_heap(std::int64_t memory_mb) {
  return "V8 gives the heap of JavaScript about half of this session's " +
         std::to_string(memory_mb) +
         " MB of memory (limits.memory_mb), and 2 to 4 GB at most: keep less at once, or run "
         "`node --max-old-space-size=MB file.js` in bash, which gives it as many of them; "
         "create_session with more begins without this one's files and variables";
}

std::string full_engine(std::int64_t memory_mb) {
  return "DuckDB takes half of this session's " + std::to_string(memory_mb) +
         " MB of memory (limits.memory_mb): SET memory_limit gives it more of them, create_session "
         "with more begins without this one's files and tables";
}

// Returns whether DuckDB has refused a statement of SQL. What it has moved to the disk is no
// memory.
bool is_of_full_engine(const Run& run) {
  return run.language == Language::kSql && run.error &&
         run.error->name.ends_with("OutOfMemoryException") &&
         run.error->message.find("max_temp_directory_size") == std::string::npos;
}

// Returns whether code of Python or JavaScript misses a name; bash and SQL have what runs before
// have left, also in the background.
bool misses_a_name(const Run& run) {
  return run.error && (run.error->name == "NameError" || run.error->name == "ReferenceError");
}

bool has_failed(const Run& run) {
  return run.error || run.status != RunStatus::kCompleted || run.exit_code.value_or(0) != 0;
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Returns whether words that end here lead to a message of the system's: a program's name, or the
// number of the error. Servers put a status before theirs, as in "413 File too large".
bool leads_to_a_message(std::string_view words) {
  if (words.ends_with("[Errno 27] ")) return true;
  if (!words.ends_with(": ")) return false;
  words.remove_suffix(2);
  const std::string_view last = words.substr(words.find_last_of(" \n") + 1);
  constexpr std::size_t kStatusDigits = 3;
  return last.size() != kStatusDigits || !std::all_of(last.begin(), last.end(), is_digit);
}

// Returns whether a shell says that a program in it ended by SIGXFSZ: bash has the number of the
// process before it, others a line of its own.
bool tells_of_ended_writer(std::string_view text) {
  constexpr std::string_view kWords = "File size limit exceeded";
  for (std::size_t at = text.find(kWords); at != text.npos; at = text.find(kWords, at + 1)) {
    std::string_view before = text.substr(0, at);
    if (before.empty() || before.back() == '\n') return true;
    if (before.back() != ' ') continue;
    before = before.substr(0, before.find_last_not_of(' ') + 1);
    if (!before.empty() && is_digit(before.back())) return true;
  }
  return false;
}

// Returns whether the end of stderr has EFBIG as programs print it, with nothing behind it but the
// name of a file or the end of the line; or what shells say of SIGXFSZ.
bool tells_of_own_too_large_file(std::string_view text) {
  constexpr std::string_view kWords = "File too large";
  for (std::size_t at = text.find(kWords); at != text.npos; at = text.find(kWords, at + 1)) {
    const std::string_view behind = text.substr(at + kWords.size());
    const bool ends = behind.empty() || std::string_view("\r\n:,'\"").find(behind[0]) != text.npos;
    if (ends && leads_to_a_message(text.substr(0, at))) return true;
  }
  return text.find("Error: EFBIG: file too large") != text.npos || tells_of_ended_writer(text);
}

// Returns whether a run that failed has met the limit of one file's size, by its exit code or in
// any words.
bool has_met_too_large_file(const Run& run, std::string_view stdout_tail,
                            std::string_view stderr_tail) {
  if (run.exit_code == 128 + SIGXFSZ) return true;
  const auto ended_by_it = [](std::string_view text) {
    return text.find("SIGXFSZ") != text.npos || text.find("File size limit exceeded") != text.npos;
  };
  return ended_by_it(stderr_tail) || (run.error && ended_by_it(run.error->message)) ||
         tells_of_own_too_large_file(stdout_tail);
}

constexpr const char* kMoreIsAnother = "which begins without this one's files and variables";

std::string full_disk(std::int64_t disk_mb) {
  return "this session's files may take " + std::to_string(disk_mb) +
         " MB together, whatever else is free on the host: delete some, or create_session with "
         "more (limits.disk_mb), " +
         kMoreIsAnother;
}

std::string full_of_files(std::int64_t files) {
  return "this session may have " + std::to_string(files) +
         " files, directories among them: delete some, or create_session with more "
         "(limits.files), " +
         kMoreIsAnother;
}

std::string full_of_either(const Limits& limits) {
  return "this session may have " + std::to_string(limits.files) + " files of " +
         std::to_string(limits.disk_mb) +
         " MB together, as far as the host has room: delete some, or create_session with more "
         "(limits.files, limits.disk_mb), " +
         kMoreIsAnother;
}

// Returns the limit of the disk that a run has met by whose error it is, where it was not stopped.
// Where a program tells of a quota, its words do not say whether that refused bytes or a file.
DiskLimit disk_limit_of(const RunError& error) {
  return is_too_large_error(error.message) || error.name == "SIGXFSZ" ? DiskLimit::kBytes
                                                                      : DiskLimit::kBytesAndFiles;
}

// Adds advice to have more of limits, by their names.
void advise_more(Run& run, const std::string& what, std::initializer_list<const char*> limits) {
  add_note(run, what);
  for (const char* limit : limits) {
    const bool is_new =
        std::find(run.short_of.begin(), run.short_of.end(), limit) == run.short_of.end();
    if (is_new) run.short_of.emplace_back(limit);
  }
}

void advise_for_disk(Run& run, DiskLimit limit, const Limits& limits) {
  switch (limit) {
    case DiskLimit::kRoomOfHost:
      return;
    case DiskLimit::kBytes:
      return advise_more(run, full_disk(limits.disk_mb), {"disk_mb"});
    case DiskLimit::kFiles:
      return advise_more(run, full_of_files(limits.files), {"files"});
    case DiskLimit::kBytesAndFiles:
    case DiskLimit::kNotCounted:
      return advise_more(run, full_of_either(limits), {"disk_mb", "files"});
  }
}

}  // namespace

void add_note(Run& run, const std::string& what) {
  if (what.empty() || run.note.find(what) != std::string::npos) return;
  base::append_part(run.note, what, "; ");
}

std::string note_of_company(bool has_changed_files, bool has_used_network) {
  if (!has_changed_files && !has_used_network) return "";
  const std::string what = !has_used_network    ? "files changed"
                           : !has_changed_files ? "the network was used"
                                                : "files changed and the network was used";
  return "others ran meanwhile: " + what + " during this run, maybe by them";
}

std::string note_of_left_processes(const Limits& limits) {
  return "processes that earlier runs left behind were ended to make room for this run: they took "
         "up the session's limit of " +
         std::to_string(limits.processes) + " processes and threads (limits.processes)";
}

void add_remarks(Run& run, const BoxSpec& session, const Met& met, std::string_view stdout_tail,
                 std::string_view stderr_tail) {
  const Limits& limits = session.limits;
  const bool has_network = !session.network.empty();
  const auto in_the_error = [&run](bool (*tells)(std::string_view)) {
    return run.error && (tells(run.error->message) || tells(run.error->traceback));
  };
  // A run that has ended well may have printed anybody's words, such as a log's: of its own there
  // are those of programs in it that failed, which are on stderr.
  const bool failed = has_failed(run);
  const auto anywhere = [&](bool (*tells)(std::string_view)) {
    return in_the_error(tells) || (failed && tells(stdout_tail)) || tells(stderr_tail);
  };
  if (!has_network && anywhere(tells_of_no_network)) run.lacks_network = true;
  if (has_network && anywhere(tells_of_unreachable_address)) add_note(run, kByNameOnly);
  if (has_network && anywhere(tells_of_closed_port)) add_note(run, kOtherPort);
  if (run.error && run.error->cause == Cause::kPids && !met.left_filled_table) {
    advise_more(run, kManyProcesses, {"processes"});
  }
  if (anywhere(tells_of_refused_shadow)) add_note(run, kNoShadow);
  if (is_of_full_engine(run)) {
    advise_more(run, full_engine(limits.memory_mb), {"memory_mb"});
  } else if (anywhere(tells_of_full_heap)) {
    advise_more(run, full_heap(limits.memory_mb), {"memory_mb"});
  } else if (anywhere(tells_of_refused_memory) ||
             (run.error && tells_of_refused_memory(run.error->name))) {
    advise_more(run, full_memory(limits.memory_mb), {"memory_mb"});
  }
  if (run.background && misses_a_name(run)) add_note(run, kNoVariables);
  if (run.error && run.error->cause == Cause::kDisk) {
    advise_for_disk(run, met.disk_limit.value_or(disk_limit_of(*run.error)), limits);
  } else if (tells_of_own_too_large_file(stderr_tail) ||
             (failed && has_met_too_large_file(run, stdout_tail, stderr_tail))) {
    advise_for_disk(run, DiskLimit::kBytes, limits);
  }
}

}  // namespace sandbox::box
