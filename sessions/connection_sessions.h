// Knows which sessions belong to the connections of this server: the default one of each, which
// calls without a session_id mean, and those that end with it. Safe from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sessions {

class ConnectionSessions {
 public:
  // An id that two principals give their connections is two connections.
  struct Caller {
    std::string principal_id;
    std::string connection_id;

    friend auto operator<=>(const Caller&, const Caller&) = default;
  };

  // Returns the id of the default session; empty while there is none.
  [[nodiscard]] std::string default_of(const Caller& caller) const;
  void set_default(const Caller& caller, const std::string& session_id);
  // Returns the id of the default session once: for the first result that comes of it.
  std::optional<std::string> take_introduction(const Caller& caller);

  // From now on the session ends with the connection.
  void add_owned(const std::string& connection_id, const std::string& session_id);
  // The session has ended by itself.
  void forget(const std::string& session_id);
  // The connection has ended: returns what it owned.
  std::vector<std::string> end(const std::string& connection_id);

 private:
  struct Default {
    std::string session_id;
    bool introduced = false;
  };

  mutable std::mutex mutex_;
  std::map<Caller, Default> defaults_;
  std::map<std::string, std::vector<std::string>> owned_;  // by connection
};

}  // namespace sessions
