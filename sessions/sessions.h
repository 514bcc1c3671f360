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
class SessionTable;
class SparePool;
struct Ground;

class Sessions {
 public:
  // These are the tables and services that Sessions calls.
  struct Parts {
    SessionTable& sessions;
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
  // Pauses it; a session without a box stays as it is, stopped.
  base::Result<SessionState> pause(const std::string& principal_id, const std::string& id);
  base::Result<SessionState> resume(const std::string& principal_id, const std::string& id);
  base::Status destroy(const std::string& principal_id, const std::string& id);
  // Makes the session end `seconds` from now, in place of any earlier lifetime.
  base::Status set_lifetime(const Session& session, std::int64_t seconds);
  // Forgets the unnamed sessions of a connection that has ended, and tells their boxes, which end
  // in some seconds unless another server uses them. A server calls it that itself goes on.
  void connection_ended(const std::string& connection_id);

 private:
  // Checks `options` and writes the row of the new session.
  base::Result<Session> make_row(const std::string& principal_id, const SessionOptions& options);
  base::Result<Session> wanted_row(const std::string& principal_id, const SessionOptions& options);
  // Returns a spare session that fits `wanted`, or inserts a row.
  base::Result<Session> take_row(const Session& wanted);
  base::Result<Session> take_unasked_row(const Session& wanted);
  // Starts its box. If that fails, the session is deleted where the host has no room (kCapacity),
  // and else its status is kError.
  base::Result<SessionState> start_new(const Session& session);
  base::Result<SessionState> state_of_new(const Session& session);
  base::Status pause_box(const std::string& session_id);

  Ground& ground_;
  const Parts parts_;
};

}  // namespace sessions
