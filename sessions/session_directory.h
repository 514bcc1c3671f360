// Knows where the files of a session lie on the host: in <state directory>/sessions/<session>, by
// the names of sandbox/session_parts.h.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/session_parts.h"
#include "sessions/session.h"

namespace sessions {

// Returns the directory in which each session has its own.
inline std::string sessions_directory(const std::string& state_directory) {
  return state_directory + "/sessions";
}

// Returns the directory of hutch-egress, in which certificates are, too.
inline std::string egress_directory(const std::string& state_directory) {
  return state_directory + "/egress";
}

class SessionDirectory {
 public:
  SessionDirectory(const std::string& state_directory, const std::string& session_id)
      : path_(sessions_directory(state_directory) + "/" + session_id) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string workspace() const { return part(sandbox::kWorkspacePart); }
  [[nodiscard]] std::string runs() const { return part(sandbox::kRunsPart); }
  [[nodiscard]] std::string run(const std::string& run_id) const { return runs() + "/" + run_id; }
  [[nodiscard]] std::string record(const std::string& run_id) const {
    return run(run_id) + "/record.json";
  }
  [[nodiscard]] std::string calls() const { return part(sandbox::kCallsPart); }
  [[nodiscard]] std::string uploads() const { return part(sandbox::kUploadsPart); }
  [[nodiscard]] std::string state() const { return part(sandbox::kStatePart); }
  [[nodiscard]] std::string kept_runs() const { return part(sandbox::kKeptRunsPart); }
  // Returns whether a box that begins has what the one before knew, as far as its interpreters
  // knew anything.
  [[nodiscard]] bool is_stored() const;
  // Returns how many bytes what its interpreters know takes, or 0 where nothing of it is stored.
  [[nodiscard]] std::int64_t stored_bytes() const;
  // Returns whether some of it are variables, which are somebody's work.
  [[nodiscard]] bool stores_variables() const;
  // Returns whether a shell of it knows more than a new one does.
  [[nodiscard]] bool stores_shell() const;
  // Deletes that. Returns whether there was something.
  [[nodiscard]] base::Result<bool> forget_state() const;

  // Makes the directories that its box needs, as the session's id owns them. Returns whether none
  // of them was there, so that no box has been here yet.
  [[nodiscard]] base::Result<bool> make_parts(const Session& session) const;
  // If a read-only rule covers `path`, returns the host's view of the workspace and the path in
  // it, so that a client can write what the code cannot. Otherwise returns nothing.
  struct BehindRule {
    base::UniqueFd root;
    std::string path;
  };
  [[nodiscard]] base::Result<std::optional<BehindRule>> behind_rule(const Session& session,
                                                                    const std::string& path) const;

 private:
  [[nodiscard]] std::string part(const char* name) const {
    return sandbox::session_part(path_, name);
  }
  [[nodiscard]] std::vector<std::string> stored_files() const;
  [[nodiscard]] bool has_in_state(std::initializer_list<const char*> names) const;
  // Makes the directories that path rules name in /workspace.
  [[nodiscard]] base::Status make_ruled(const Session& session) const;

  std::string path_;
};

}  // namespace sessions
