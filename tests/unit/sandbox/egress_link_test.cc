// The box's side of its connection to the door, with a door that is none.
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include <nlohmann/json.hpp>

#include "base/unix_socket.h"
#include "sandbox/box/egress_link.h"
#include "sandbox/wire/build_id.h"
#include "sandbox/wire/egress_protocol.h"
#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::EgressLink;
using sandbox::box::EventLoop;

class EgressLinkTest : public ::testing::Test {
 protected:
  EgressLinkTest() {
    spec_.egress_directory = folder_.path();
    const std::string place = folder_.path() + "/" + std::string(sandbox::wire::kBuildId);
    EXPECT_EQ(::mkdir(place.c_str(), 0700), 0);
    const auto directory = base::open_file(AT_FDCWD, place, O_RDONLY | O_DIRECTORY).value();
    const auto listener =
        base::listen_at(directory.get(), sandbox::wire::kEgressSocket, SOCK_SEQPACKET).value();
    std::vector<base::UniqueFd> sockets;
    while (sockets.size() < sandbox::box::listeners_of(spec_.network).size()) {
      sockets.emplace_back(::dup(listener.get()));
    }
    link_ = EgressLink::open(*loop_, spec_, std::move(sockets), [this](const nlohmann::json& one) {
              heard_.push_back(one.at("event"));
            }).value();
    door_ = base::UniqueFd(::accept(listener.get(), nullptr, nullptr));
  }
  void tell(const std::string& event) {
    const std::string text = nlohmann::json({{"event", event}}).dump();
    EXPECT_TRUE(base::send_packet(door_.get(), text, nullptr, 0).ok());
  }
  // Until the box says this, or goes.
  void wait_for(const std::string& op) {
    while (true) {
      // One that goes while something is unread for it resets the connection.
      const auto packet = base::receive_packet(door_.get(), sandbox::wire::kEgressPacketBytesMax);
      if (!packet.ok() || packet.value().bytes.empty()) return;
      if (nlohmann::json::parse(packet.value().bytes).at("op") == op) return;
    }
  }

  using Heard = std::vector<std::string>;
  TemporaryDirectory folder_;
  sandbox::BoxSpec spec_;
  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  Heard heard_;
  std::unique_ptr<EgressLink> link_;
  base::UniqueFd door_;
};

// The end of a run takes what the door has said; the loop, which saw both at once, comes to the
// connection later.
TEST_F(EgressLinkTest, WaitsForNothingThatWasTakenInTheSameLook) {
  const auto pipe = base::make_pipe().value();
  ASSERT_TRUE(loop_
                  ->watch(pipe.read_end.get(), EPOLLIN,
                          [&](std::uint32_t) {
                            loop_->forget(pipe.read_end.get());
                            link_->catch_up();
                            EXPECT_EQ(heard_, Heard{"opened"});
                            loop_->after(std::chrono::milliseconds(50), [&] { loop_->stop(); });
                          })
                  .ok());
  ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
  tell("opened");
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_EQ(heard_, Heard{"opened"});
}

TEST_F(EgressLinkTest, TakesNothingWhileThereIsNoRoomForIt) {
  int looks = 2000;
  const std::function<void()> look = [&] {
    if (!heard_.empty() || --looks == 0) return loop_->stop();
    loop_->after(std::chrono::milliseconds(5), look);
  };
  link_->hold(true);
  tell("opened");
  link_->catch_up();
  loop_->after(std::chrono::milliseconds(20), [&] {
    EXPECT_EQ(heard_, Heard{});
    link_->hold(false);
    look();
  });
  ASSERT_TRUE(loop_->run().ok());
  EXPECT_EQ(heard_, Heard{"opened"});
}

TEST_F(EgressLinkTest, HearsOfAllThatWasUnderWayBeforeItEnds) {
  link_->hold(true);
  tell("opened");
  std::thread door([this] {
    wait_for("close");
    for (const char* event : {"closed", "used", "ended"}) tell(event);
    // The box may be gone by now, which is as good.
    (void)base::send_packet(door_.get(), R"({"event": "too late"})", nullptr, 0);
    wait_for("nothing");
  });
  link_->finish();
  door.join();
  EXPECT_EQ(heard_, (Heard{"opened", "closed", "used", "ended", "lost"}));
}

TEST_F(EgressLinkTest, EndsWithoutADoorThatSaysSo) {
  std::thread door([this] {
    wait_for("close");
    door_.reset();
  });
  link_->finish();
  door.join();
  EXPECT_EQ(heard_, Heard{"lost"});
}

}  // namespace
