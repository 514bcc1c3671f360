// Room for one more session, or one more box: at its bounds a principal's others give way, as far
// as that loses nothing of what somebody may come back for. Safe from any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

class SessionEnds;
class SessionLists;
class SessionStates;
class SessionTable;
struct Ground;

class SessionRoom {
 public:
  SessionRoom(const Ground& ground, SessionTable& sessions, SessionLists& session_lists,
              SessionEnds& ends, SessionStates& states)
      : ground_(ground),
        sessions_(sessions),
        session_lists_(session_lists),
        ends_(ends),
        states_(states) {}

  // Counts the session among those that have a box, before it gets one. False: it was so already.
  base::Result<bool> claim_box(const Session& session);
  // Calls `take`, which makes the row of a new session, again and again as long as that is kLimit
  // and others can give way; else kLimit names some.
  base::Result<Session> take_row(const std::string& principal_id,
                                 const std::function<base::Result<Session>()>& take);
  // Lets sessions that were made unasked give way to another one of them.
  base::Status make_room_for_unasked(const std::string& principal_id);

 private:
  // Ends its box, if it is idle; the session and its files stay.
  base::Status give_way(const Session& session);
  template <typename T>
  base::Result<T> with_room(const std::string& principal_id, bool for_new_session,
                            const std::function<base::Result<T>()>& take);
  // Is called when the principal's boxes, or for a new one its sessions, are as many as may be.
  // Returns false when it was in vain.
  bool make_room(const std::string& principal_id, bool for_new_session);
  bool forget_dead_boxes(const std::vector<Session>& sessions);
  bool end_left_boxes(const std::vector<Session>& sessions);
  bool delete_some_with_nothing(const std::string& principal_id);
  [[nodiscard]] bool boxes_are_full(const std::vector<Session>& with_box) const;
  base::Error with_names(base::Error limit, const std::string& principal_id);

  const Ground& ground_;
  SessionTable& sessions_;
  SessionLists& session_lists_;
  SessionEnds& ends_;
  SessionStates& states_;
};

}  // namespace sessions
