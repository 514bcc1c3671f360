// The host that the requests of one connection go to, one after another: whether they may, and the
// connection there, which several of them use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>

#include "sandbox/egress/asio.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {

class HttpDestination {
 public:
  enum class Requests {
    kOneByOne,  // for the connection's host
    kOfProxy,   // for the host that each names
    kAtOnce     // for the connection's host, several together
  };

  HttpDestination(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                  Requests requests);

  // Returns "" when the session may make this request; else why not, which has been told of.
  std::string admit(const std::optional<Target>& target, std::string_view method);
  // Connects unless we are; why not, which has been told of.
  Task<std::string> open();
  void end();
  // Leaves the connection to somebody else, with all that comes.
  void hand_over() { is_open_ = false; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  // Returns the target as the host itself is to be asked for it.
  [[nodiscard]] std::string shown() const;

  boost::beast::flat_buffer from_host;  // bytes that have been read ahead

 private:
  std::shared_ptr<Session> session_;
  std::shared_ptr<Connection> connection_;
  const Requests requests_;
  const std::string host_;  // where there is no proxy; empty: as the requests say
  bool is_open_ = false;
};

}  // namespace sandbox::egress
