// A Connection is one server's connection to the box, seen from the box.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/fd.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/frame.h"

namespace sandbox::box {

class Connection {
 public:
  struct Events {
    std::function<void(const nlohmann::json& request)> request;
    std::function<void()> closed;  // once; destroy it later, not from inside
  };

  Connection(EventLoop& loop, base::UniqueFd socket, Events events);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  base::Status start();
  void reply(const nlohmann::json& message);
  // Sends what was replied so far and then the descriptor, waiting for room: both are small.
  void send_fd(int fd);

 private:
  void on_event(std::uint32_t events);
  void read();
  void flush();
  void close();

  EventLoop& loop_;
  base::UniqueFd socket_;
  Events events_;
  wire::FrameDecoder decoder_{wire::kBoxRequestBytesMax};
  std::string unsent_;
};

}  // namespace sandbox::box
