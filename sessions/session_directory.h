// Where the files of a session lie on the host: the one place that knows their names.
//
//     <state directory>/sessions/<session>/{workspace,home,tmp}   as its code has them
//                                         /runs/<run>/            output and record of a run
//                                         /calls/<run>            what an API keeps of a run
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

// Returns the directory in which each session has its own.
inline std::string sessions_directory(const std::string& state_directory) {
  return state_directory + "/sessions";
}

class SessionDirectory {
 public:
  SessionDirectory(const std::string& state_directory, const std::string& session_id)
      : path_(sessions_directory(state_directory) + "/" + session_id) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string runs() const { return path_ + "/runs"; }
  [[nodiscard]] std::string run(const std::string& run_id) const { return runs() + "/" + run_id; }
  [[nodiscard]] std::string record(const std::string& run_id) const {
    return run(run_id) + "/record.json";
  }
  [[nodiscard]] std::string calls() const { return path_ + "/calls"; }

  // Makes the directories that its box needs, as the session's id owns them.
  [[nodiscard]] base::Status make_parts(const Session& session) const;
  // If a read-only rule covers `path`, returns the host's view of the workspace and the path in
  // it, so that a client can write what the code cannot. Otherwise returns nothing.
  struct BehindRule {
    base::UniqueFd root;
    std::string path;
  };
  [[nodiscard]] base::Result<std::optional<BehindRule>> behind_rule(const Session& session,
                                                                    const std::string& path) const;

 private:
  // Makes the directories that path rules name in /workspace.
  [[nodiscard]] base::Status make_ruled(const Session& session) const;

  std::string path_;
};

}  // namespace sessions
