// Lets a box ask the servers of its state directory to take over what it has written of the network
// (network_journal.h): a packet with the session's id to each of their sockets, in journals/ there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox {

// Hears the calls, in a server, on a thread of its own.
class JournalCalls {
 public:
  using Take = std::function<void(const std::string& session_id)>;

  // `take` is called until this ends, from one thread.
  static base::Result<std::unique_ptr<JournalCalls>> listen(const std::string& state_directory,
                                                            const std::string& server_id,
                                                            Take take);
  // Removes the socket of a server that is dead.
  static void forget(const std::string& state_directory, const std::string& server_id);
  ~JournalCalls();
  JournalCalls(const JournalCalls&) = delete;
  JournalCalls& operator=(const JournalCalls&) = delete;

 private:
  JournalCalls(std::string path, base::UniqueFd socket, base::UniqueFd stop, Take take);
  void hear();

  const std::string path_;
  const base::UniqueFd socket_;
  const base::UniqueFd stop_;  // an eventfd
  const Take take_;
  std::thread thread_;
};

// Calls all servers, from a box. One that is dead does not hear it, and its socket is removed.
void call_for_journal(const std::string& state_directory, const std::string& session_id);

}  // namespace sandbox
