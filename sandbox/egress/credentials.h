// The credentials of one session: asked for when a request needs one, held for seconds, and never
// told to the box.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/fd.h"
#include "sandbox/credential.h"
#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class Credentials {
 public:
  // A Value is that of one credential, or says why there is none, in words for the session.
  struct Value {
    std::string text;
    std::string reason;
  };
  // Asks for the value of the one of this name: take() is called then.
  using Ask = std::function<void(const std::string& name)>;

  Credentials(asio::io_context& context, Ask ask);

  void set(std::vector<Credential> credentials) { all_ = std::move(credentials); }
  // Returns the credentials whose host and port these are.
  [[nodiscard]] std::vector<const Credential*> of(const std::string& host,
                                                  std::uint16_t port) const;
  Task<Value> value_of(const std::string& name);
  // `pipe` may be none. The coroutine holds on to whatever owns this.
  Task<void> take(std::string name, base::UniqueFd pipe);

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Value value;
    Clock::time_point until;
    bool is_asked = false;
  };

  Task<Value> read(base::UniqueFd pipe);

  asio::io_context& context_;
  Ask ask_;
  std::vector<Credential> all_;
  std::map<std::string, Held> held_;
  std::shared_ptr<asio::steady_timer> arrived_;  // cancelled with each that has
};

}  // namespace sandbox::egress
