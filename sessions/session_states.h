// Tells how sessions are at this moment: what the database has, and what their boxes say. Safe from
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"
#include "sessions/rounds.h"
#include "sessions/session.h"
#include "sessions/session_state.h"

namespace sessions {

class EndedBoxes;
class SessionLists;
struct Ground;

// An EarlierSession is one with something in its /workspace, at the top of which `entries` were
// counted, or with variables, or what a shell knew, that are stored.
struct EarlierSession {
  Session session;
  std::int64_t entries = 0;
  bool has_more = false;
  bool has_variables = false;
  bool has_shell = false;
};

class SessionStates {
 public:
  // list() returns at most so many sessions, those used last.
  static constexpr std::int64_t kListedMax = 1000;

  SessionStates(const Ground& ground, SessionLists& session_lists, EndedBoxes& ended)
      : ground_(ground), session_lists_(session_lists), ended_(ended) {}

  base::Result<SessionState> state_of(Session session);
  // Returns where what the session knows is; nothing where it does not rest.
  std::optional<Tier> tier_now(const std::string& session_id);
  // Many who ask at once get one and the same.
  using Listed = std::shared_ptr<const std::vector<SessionState>>;
  base::Result<Listed> list(const std::string& principal_id,
                            const std::optional<SessionStatus>& status);
  // Asks their boxes, at once and in bounded time, whatever they do.
  void ask_boxes(std::vector<SessionState>& states);
  // Returns whether it is paused and stays so until somebody resumes it. A box that does not answer
  // at once is as its row says.
  bool sleeps(const Session& session);
  // Returns others of the principal that hold something, the one that was used last first.
  // Looks at few sessions, and only at the top of their workspaces.
  base::Result<std::vector<EarlierSession>> earlier_with_something(const std::string& principal_id,
                                                                   const std::string& than_id,
                                                                   std::size_t most);

 private:
  base::Result<Listed> ask_boxes_of(const std::string& principal_id);
  // Returns whether there is stored state, and the next box is to read it.
  [[nodiscard]] bool wakes_with_state(const std::string& session_id) const;
  // Says how it is whose box did not answer.
  void add_silence(SessionState& state, const base::Error& why);
  void look_for_box(SessionState& state, const base::Error& why);

  const Ground& ground_;
  SessionLists& session_lists_;
  EndedBoxes& ended_;
  Rounds<Listed> lists_;  // by principal
};

}  // namespace sessions
