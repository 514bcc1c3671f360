// The one place that knows what lies in a session's directory on the host, for hutch, its boxes and
// whoever clears up after them; and where the code of a session finds the files of its runs.
//
//     <session>/{workspace,home,tmp}   as its code has them
//              /runs/<run>/            output and record of a run
//              /calls/<run>            what an API keeps of a run
//              /uploads/               files on their way into it
//              /state/                 what its interpreters know
//              /restarts/<run>         what its next box starts anew
//              /box.sock, /lock ..     what its box and the servers have beside these
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace sandbox {

inline constexpr const char* kWorkspacePart = "workspace";
inline constexpr const char* kHomePart = "home";
inline constexpr const char* kTmpPart = "tmp";
inline constexpr const char* kRunsPart = "runs";
inline constexpr const char* kCallsPart = "calls";
inline constexpr const char* kUploadsPart = "uploads";
inline constexpr const char* kStatePart = "state";
// Runs that its next box starts anew have a file each, named after the run. The request in it is
// JSON (request_to_json()).
inline constexpr const char* kKeptRunsPart = "restarts";
inline constexpr const char* kBoxSocketPart = "box.sock";
inline constexpr const char* kBoxLogPart = "box.log";
inline constexpr const char* kLockPart = "lock";
inline constexpr const char* kDroppedOutputsPart = "dropped_outputs";
inline constexpr std::string_view kNetworkJournalPrefix = "network-";

// Its code has kWorkspacePart here.
inline constexpr const char* kWorkspace = "/workspace";
inline constexpr std::string_view kBelowWorkspace = "/workspace/";

inline constexpr std::array<const char*, 3> kPartsOfCode{kWorkspacePart, kHomePart, kTmpPart};

// These lie in kStatePart: the shell's two copies, of which the newer whole one counts, one that is
// being written, and what is there while the code rests.
inline constexpr std::array<const char*, 2> kShellCopies{"bash.0", "bash.1"};
inline constexpr const char* kUnfinishedShell = "bash.new";
inline constexpr const char* kRestsFile = "rests";

inline std::string session_part(const std::string& session_directory, const char* part) {
  return session_directory + "/" + part;
}

// Returns the path of that file of a run as the code of its session has it.
inline std::string run_file(const std::string& run_id, std::string_view name) {
  return "/runs/" + run_id + "/" + std::string(name);
}

}  // namespace sandbox
