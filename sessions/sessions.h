// The life of sessions: made, found, paused, ended. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"

namespace sessions {

class BoxSpecs;
class Boxes;
class ConnectionSessions;
class SessionEnds;
class SessionRoom;
class SessionStates;
class SparePool;
struct Ground;

class Sessions {
 public:
  // Services that the life of a session meets.
  struct Parts {
    Boxes& boxes;
    const BoxSpecs& specs;
    SessionStates& states;
    SessionEnds& ends;
    SessionRoom& room;
    SparePool& spares;
    ConnectionSessions& connections;
  };
  Sessions(Ground& ground, const Parts& parts) : ground_(ground), parts_(parts) {}

  base::Result<SessionState> create(const std::string& principal_id, const SessionOptions& options);
  // Returns the session of that name, made when there is none.
  base::Result<Session> find_or_create_named(const std::string& principal_id,
                                             const std::string& name);
  // Returns the default session of a connection, made on first use.
  base::Result<Session> session_of_connection(const std::string& principal_id,
                                              const std::string& connection_id);
  // Finds by id or name. kNotFound, with the same words for a foreign and an unknown one.
  base::Result<Session> find(const std::string& principal_id, const std::string& id_or_name);
  // Finds one that is neither destroyed nor over its lifetime; kNotFound for all others.
  base::Result<Session> find_live(const std::string& principal_id, const std::string& id_or_name);
  // One without a box stays as it is, stopped.
  base::Result<SessionState> pause(const std::string& principal_id, const std::string& id);
  base::Result<SessionState> resume(const std::string& principal_id, const std::string& id);
  base::Status destroy(const std::string& principal_id, const std::string& id);
  // Lets it end so many seconds from now, whatever was to be before.
  base::Status set_lifetime(const Session& session, std::int64_t seconds);
  // The connection has ended, and this server goes on: what it knows of the sessions without a name
  // that the connection has made is let go. Their processes end when nobody else uses them.
  void connection_ended(const std::string& connection_id);

 private:
  // Makes the row of a session that is to be, checked against what may be asked for.
  base::Result<Session> make_row(const std::string& principal_id, const SessionOptions& options);
  base::Result<Session> wanted_row(const std::string& principal_id, const SessionOptions& options);
  // Takes a spare one's row where that is as it is wanted, or makes one.
  base::Result<Session> take_row(const Session& wanted);
  base::Result<Session> take_unasked_row(const Session& wanted);
  // Starts its box, or leaves it in the state `error`.
  base::Result<SessionState> start_new(const Session& session);
  base::Result<SessionState> state_of_new(const Session& session);
  base::Status pause_box(const std::string& session_id);

  Ground& ground_;
  const Parts parts_;
};

}  // namespace sessions
