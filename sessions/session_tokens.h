// Tokens that let in to one session, or to one port of it, for who was given them: message
// authentication codes of its id under a key of the state directory, so that nothing has to be kept
// of them. Safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sessions/session.h"

namespace sessions {

class SessionLists;
class SessionTable;

class SessionTokens {
 public:
  SessionTokens(std::string state_directory, SessionTable& sessions, SessionLists& session_lists)
      : state_directory_(std::move(state_directory)),
        sessions_(sessions),
        session_lists_(session_lists) {}

  // Returns the token of a session, whether there is one of that id or not.
  [[nodiscard]] base::Result<std::string> token_of(const std::string& session_id) const;
  [[nodiscard]] bool is_token_of(const std::string& session_id, const std::string& token) const;
  // Returns the session. kNotFound when it is not its token, or when the session has ended.
  [[nodiscard]] base::Result<Session> session_by(const std::string& session_id,
                                                 const std::string& token) const;
  // Returns the ids of the sessions of all principals that were used last, each with its token.
  struct Access {
    std::string session_id;
    std::string token;
  };
  [[nodiscard]] base::Result<std::vector<Access>> newest(std::int64_t limit) const;

  // Returns a token to one port of a session until that second since the epoch: part of a link.
  [[nodiscard]] base::Result<std::string> port_token_of(const std::string& session_id,
                                                        std::uint16_t port,
                                                        std::int64_t until_s) const;
  // Does what session_by() does; kNotFound as well when the time of the token is over.
  [[nodiscard]] base::Result<Session> session_by_port(const std::string& session_id,
                                                      std::uint16_t port,
                                                      const std::string& token) const;

 private:
  [[nodiscard]] base::Result<std::string> key() const;

  const std::string state_directory_;
  SessionTable& sessions_;
  SessionLists& session_lists_;
};

}  // namespace sessions
