// A box that was found may end before it is asked: that is told as an end, not as "never heard of".
#include "sandbox/connected_box.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/session_parts.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/build_id.h"
#include "sandbox/wire/frame.h"
#include "tests/support/temporary_directory.h"

namespace {

using Kind = base::Error::Kind;
using nlohmann::json;

// Listens where a box does, answers what wants an answer, and keeps what it was asked and told. It
// ends with its one connection.
class ListeningBox {
 public:
  ListeningBox(const std::string& directory, std::string build)
      : build_(std::move(build)), listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = sandbox::session_part(directory, sandbox::kBoxSocketPart);
    EXPECT_LT(path.size(), sizeof address.sun_path);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~ListeningBox() {
    if (thread_.joinable()) thread_.join();
  }
  ListeningBox(const ListeningBox&) = delete;
  ListeningBox& operator=(const ListeningBox&) = delete;

  // Returns all that was said, once the connection has been closed.
  std::vector<json> heard() {
    thread_.join();
    return std::exchange(heard_, {});
  }

 private:
  void serve() {
    const base::UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    sandbox::wire::FrameDecoder decoder(sandbox::wire::kBoxRequestBytesMax);
    std::string bytes(4096, '\0');
    while (true) {
      const ssize_t got = ::recv(client.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      decoder.feed({bytes.data(), static_cast<std::size_t>(got)});
      while (const auto frame = decoder.next().value()) {
        heard_.push_back(json::parse(frame->payload));
        if (!heard_.back().value("answer", true)) continue;
        const json reply = {{"ok", true}, {"build", build_}};
        const std::string sent = sandbox::wire::encode_frame('J', base::print_json(reply));
        EXPECT_EQ(::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(sent.size()));
      }
    }
  }

  const std::string build_;
  const base::UniqueFd listener_;
  std::vector<json> heard_;
  std::thread thread_;
};

std::vector<json> heard_of_a_write_by_a_box_of(const std::string& build) {
  const TemporaryDirectory directory;
  ListeningBox listening(directory.path(), build);
  {
    sandbox::ConnectedBox box(directory.path(), 60, sandbox::ConnectedBox::Attach::kYes);
    EXPECT_TRUE(box.connect().ok());
    box.disk_written(7);
    EXPECT_TRUE(box.pause().ok()) << "the next answer is the next question's";
  }
  return listening.heard();
}

TEST(ConnectedBoxTest, WhatWasWrittenIsToldWithoutAnAnswer) {
  const auto heard = heard_of_a_write_by_a_box_of(sandbox::wire::kBuildId);
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_EQ(heard[1], json({{"op", "disk_written"}, {"bytes", 7}, {"answer", false}}));
  EXPECT_EQ(heard[2]["op"], "pause");
}

TEST(ConnectedBoxTest, ABoxOfAnotherBuildWhichWouldAnswerIsNotTold) {
  const auto heard = heard_of_a_write_by_a_box_of("another");
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(heard[1]["op"], "pause");
}

// Its socket is gone, as that of a box which is about to end.
TEST(ConnectedBoxTest, WhatItIsAskedOnceItsSocketIsGoneIsUnavailable) {
  const TemporaryDirectory directory;
  sandbox::ConnectedBox box(directory.path(), 60, sandbox::ConnectedBox::Attach::kYes);
  EXPECT_EQ(box.connect().error().kind, Kind::kNotFound) << "who looks for it finds none";
  EXPECT_EQ(box.submit({}).error().kind, Kind::kUnavailable);
  EXPECT_EQ(box.wait("run_a", {}, {}).error().kind, Kind::kUnavailable);
  EXPECT_EQ(box.status().error().kind, Kind::kUnavailable);
}

}  // namespace
