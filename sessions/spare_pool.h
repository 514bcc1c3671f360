// Sessions made ahead of need: the box is up and its Python runs before anybody asks. Whoever wants
// a session that is like them gets one, which is a change of its row. Safe from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"
#include "sessions/session_table.h"

namespace sessions {

class BoxSpecs;
class Boxes;
class SessionEnds;
class SpareTable;
struct Ground;
struct SessionBounds;

class SparePool {
 public:
  SparePool(const Ground& ground, SessionTable& sessions, SpareTable& spares, Boxes& boxes,
            const BoxSpecs& specs, SessionEnds& ends)
      : ground_(ground),
        sessions_(sessions),
        spares_(spares),
        boxes_(boxes),
        specs_(specs),
        ends_(ends) {}

  // Makes as many as the settings say from now on, on a thread of its own.
  base::Status start();
  // Makes no more, and ends those that there are.
  void stop();
  // Returns one that is as `wanted` is and has become that; nothing: there is none. Errors as of
  // SpareTable::adopt().
  base::Result<std::optional<Session>> adopt(const Session& wanted, const SessionBounds& bounds);
  // Ends a spare session of a server that is gone.
  void sweep(const Session& spare);

 private:
  void keep(const std::stop_token& stop);
  [[nodiscard]] bool makes_none() const;
  base::Result<Session> make(const std::stop_token& stop);
  // Takes one out of the pool, which is in hand until adopt() has put it somewhere.
  std::optional<Session> take(const Session& wanted);
  // Tells its box, which was made for nobody, whose it is.
  void tell_box(const Session& adopted, const Session& wanted);
  bool is_fit(const Session& spare);
  void end(const Session& spare, const std::string& why);
  [[nodiscard]] bool has_usual_environment(const Session& spare) const;
  // It is called with the lock held.
  void condemn_unfit();

  const Ground& ground_;
  SessionTable& sessions_;
  SpareTable& spares_;
  Boxes& boxes_;
  const BoxSpecs& specs_;
  SessionEnds& ends_;
  std::mutex mutex_;
  std::condition_variable_any wakeup_;
  std::deque<Session> ready_;       // the front is given away first
  std::vector<Session> condemned_;  // the maker ends them
  std::size_t in_hand_ = 0;         // with takers, who may give them back
  std::jthread maker_;
};

}  // namespace sessions
