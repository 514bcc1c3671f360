// Marks of the servers of one state directory: a file each in servers/, locked as long as its
// server lives. Safe from any thread once it is open.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sessions {

class Servers {
 public:
  explicit Servers(std::string state_directory);
  // This server is there no more.
  ~Servers();
  Servers(const Servers&) = delete;
  Servers& operator=(const Servers&) = delete;

  // Takes this server's place among the others.
  base::Status open();
  [[nodiscard]] const std::string& own_id() const { return own_id_; }
  [[nodiscard]] bool is_alive(const std::string& server_id) const;
  // Removes the marks of dead ones.
  void sweep() const;

 private:
  [[nodiscard]] std::string directory() const { return state_directory_ + "/servers"; }

  const std::string state_directory_;
  const std::string own_id_;
  base::UniqueFd own_lock_;
};

}  // namespace sessions
