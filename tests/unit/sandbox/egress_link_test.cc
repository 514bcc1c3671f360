// The box's side of its connection to the door, with a door that is none.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "sandbox/base/unix_socket.h"
#include "sandbox/box/egress_link.h"
#include "sandbox/wire/build_id.h"
#include "sandbox/wire/egress_protocol.h"
#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::EgressLink;
using sandbox::box::EventLoop;

// The end of a run takes what the door has said; the loop, which saw both at once, comes to the
// connection later.
TEST(EgressLink, WaitsForNothingThatWasTakenInTheSameLook) {
  const TemporaryDirectory folder;
  sandbox::BoxSpec spec;
  spec.egress_directory = folder.path();
  const std::string place = folder.path() + "/" + std::string(sandbox::wire::kBuildId);
  ASSERT_EQ(::mkdir(place.c_str(), 0700), 0);
  const auto directory = base::open_file(AT_FDCWD, place, O_RDONLY | O_DIRECTORY).value();
  const auto listener =
      base::listen_at(directory.get(), sandbox::wire::kEgressSocket, SOCK_SEQPACKET).value();
  const auto loop = EventLoop::create().value();
  int heard = 0;
  std::vector<base::UniqueFd> sockets;
  for (int fd = 0; sockets.size() < sandbox::box::listeners_of(spec.network).size();) {
    fd = ::dup(listener.get());
    sockets.emplace_back(fd);
  }
  const auto link = EgressLink::open(*loop, spec, std::move(sockets), [&](const nlohmann::json&) {
                      ++heard;
                    }).value();
  const base::UniqueFd door(::accept(listener.get(), nullptr, nullptr));
  const auto pipe = base::make_pipe().value();
  ASSERT_TRUE(loop->watch(pipe.read_end.get(), EPOLLIN,
                          [&](std::uint32_t) {
                            loop->forget(pipe.read_end.get());
                            link->catch_up();
                            EXPECT_EQ(heard, 1);
                            loop->after(std::chrono::milliseconds(50), [&] { loop->stop(); });
                          })
                  .ok());
  ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
  ASSERT_TRUE(base::send_packet(door.get(), R"({"event": "opened"})", nullptr, 0).ok());
  ASSERT_TRUE(loop->run().ok());
  EXPECT_EQ(heard, 1);
}

}  // namespace
