// All sessions at the door: those of the boxes that are connected to its socket.
#pragma once

#include <map>
#include <memory>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/fd.h"
#include "sandbox/egress/asio.h"
#include "sandbox/egress/resources.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {

class Door {
 public:
  // `socket` listens. The context stops a while after the last box has gone.
  Door(asio::io_context& context, base::UniqueFd socket, Downloads downloads);

 private:
  using Channel = asio::posix::stream_descriptor;

  Task<void> accept();
  Task<void> serve(std::shared_ptr<Channel> box);
  void rest();

  asio::io_context& context_;
  Resources resources_;
  Channel socket_;
  asio::steady_timer rest_;
  std::size_t boxes_ = 0;
};

}  // namespace sandbox::egress
