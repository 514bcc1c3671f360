// A BoxConnection is one connection from a server to a box: request, reply, in turn.
//
// Nothing that a box says is trusted: one that speaks garbage, says something that cannot be, or
// does not answer is ended, and with it all that runs in it. Nothing here waits without a bound.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/frame.h"

namespace sandbox {

class BoxConnection {
 public:
  // Connects to the socket in the session's directory and says hello. kNotFound: nobody there.
  // A box stays while it has connections that attach.
  enum class Attach { kNo, kYes };
  // Says what becomes of a box that does not answer in time. kLeave is for callers whose patience
  // is shorter than a box that is well may need.
  enum class Silent { kEnd, kLeave };
  static base::Result<BoxConnection> open(const std::string& session_directory,
                                          std::int64_t detach_seconds, Attach attach,
                                          std::chrono::milliseconds patience = kHelloPatience,
                                          Silent silent = Silent::kEnd);

  // Returns the reply, or the Error it carries. After an Error of kind kUnavailable the connection
  // is useless. `patience` bounds the wait for a box that does not answer.
  base::Result<nlohmann::json> call(const nlohmann::json& request,
                                    std::chrono::milliseconds patience,
                                    const std::stop_token& stop = {});

  // Says what has no reply, and does not wait for the box to hear it.
  base::Status tell(const nlohmann::json& message, std::chrono::milliseconds patience);

  // Receives the descriptor that follows the reply to "root", "input" or "connect".
  base::Result<base::UniqueFd> receive_fd(std::chrono::milliseconds patience);

  // Ends the process of the box, which said or did what no sandbox does. The Error to give back.
  base::Error end_box(const std::string& why) const;

  // Waits until the box has closed its end: it does so last of all. Returns false when time is up.
  bool wait_for_end(std::chrono::milliseconds patience);

  // Returns a pidfd of the box; it is not valid where the kernel does not tell.
  [[nodiscard]] base::UniqueFd process() const;

  // Returns its pid, also when it has ended; 0 where the kernel does not tell.
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Returns whether the box is of the build that this process is.
  [[nodiscard]] bool of_this_build() const { return of_this_build_; }

  // Returns false once the box has closed it: it is checked before reuse.
  [[nodiscard]] bool usable() const;

 private:
  // It is as long as kPatience in connected_box.cc.
  static constexpr std::chrono::seconds kHelloPatience{30};

  BoxConnection(base::UniqueFd socket, Silent silent)
      : socket_(std::move(socket)), silent_(silent) {}

  [[nodiscard]] base::Error no_answer() const;

  base::Status send(std::string_view frame, std::chrono::milliseconds patience);
  base::Result<nlohmann::json> receive(std::chrono::milliseconds patience,
                                       const std::stop_token& stop);

  base::UniqueFd socket_;
  Silent silent_;
  bool of_this_build_ = false;
  pid_t pid_ = 0;
  base::UniqueFd process_;  // the box's; not valid where the kernel does not tell
};

}  // namespace sandbox
