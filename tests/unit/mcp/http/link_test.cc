// A connection alone: its host notes what it is asked for, and runs nothing by itself.
#include "mcp/http/link.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace mcp::http {
namespace {

class NotingHost final : public LinkHost {
 public:
  void arm(const Link&, std::uint32_t events) override { armed = events; }
  bool serve(std::shared_ptr<Link>, const std::string&) override { return serves; }
  void forget(const Link&) override {}
  void refused(const Link& link, int status, const std::string& request_id) override {
    refusals.emplace_back(status, link.peer());
    last_id = request_id;
  }
  void run(const std::string&, std::function<void()> work) override {
    works.push_back(std::move(work));
  }
  bool reserve_output(const std::string&, std::size_t) override { return true; }
  void release_output(const std::string&, std::size_t) override {}
  [[nodiscard]] bool wants_output_back(const std::string&) const override { return false; }
  BodyShares& bodies() override { return bodies_; }
  [[nodiscard]] const Bounds& bounds() const override { return bounds_; }
  [[nodiscard]] bool draining() const override { return false; }

  using Refusals = std::vector<std::pair<int, std::string>>;
  bool serves = true;
  std::uint32_t armed = 0;
  Refusals refusals;
  std::string last_id;
  std::vector<std::function<void()>> works;

 private:
  const Bounds bounds_;
  BodyShares bodies_{bounds_};
};

class LinkTest : public ::testing::Test {
 protected:
  LinkTest() {
    base::SocketPair ends = base::make_socket_pair(SOCK_STREAM).value();
    EXPECT_TRUE(base::set_nonblocking(ends.ours.get()).ok());
    const int room = 64 << 10;
    EXPECT_EQ(::setsockopt(ends.ours.get(), SOL_SOCKET, SO_SNDBUF, &room, sizeof room), 0);
    client_ = std::move(ends.theirs);
    link_ = std::make_shared<Link>(host_, ends.ours.release(), 1, "192.0.2.7");
  }

  void send(const std::string& bytes) {
    ASSERT_TRUE(base::write_all(client_.get(), bytes).ok());
    link_->on_event(EPOLLIN);
  }
  // Returns what has come to the client by now.
  std::string got() {
    std::string all;
    char part[4096];
    while (true) {
      const ssize_t size = ::recv(client_.get(), part, sizeof part, MSG_DONTWAIT);
      if (size <= 0) return all;
      all.append(part, static_cast<std::size_t>(size));
    }
  }
  void run_works() {
    for (const auto& work : std::exchange(host_.works, {})) work();
  }
  std::string expect_told_refusal(int status) {
    EXPECT_EQ(host_.refusals, (NotingHost::Refusals{{status, "192.0.2.7"}}));
    const std::string answer = got();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ")) << answer;
    EXPECT_NE(answer.find("X-Request-Id: " + host_.last_id + "\r\n"), std::string::npos) << answer;
    return answer;
  }

  NotingHost host_;
  base::UniqueFd client_;
  std::shared_ptr<Link> link_;
};

constexpr const char* kWholeHead = "GET / HTTP/1.1\r\n\r\n";

// The thread of all connections must not wait for a disk.
TEST_F(LinkTest, AFileIsReadOnAnotherThreadEvenBehindAHeadThatHasNotLeft) {
  send(kWholeHead);
  (void)link_->take_head();
  const std::string file = "what the file has";
  const std::string head(1U << 20, 'h');  // more than the socket takes at once
  Answer answer;
  answer.bytes = head;
  answer.keep_alive = true;
  answer.file.file = std::make_shared<base::UniqueFd>(base::make_memory_file("file", file).value());
  answer.file.bytes = static_cast<std::int64_t>(file.size());
  link_->finish(std::move(answer));
  std::string all = got();
  ASSERT_LT(all.size(), head.size());
  for (int turn = 0; turn < 1000 && all.size() < head.size() + file.size(); ++turn) {
    ASSERT_EQ(host_.armed, static_cast<std::uint32_t>(EPOLLOUT));
    link_->on_event(EPOLLOUT);
    ASSERT_EQ(host_.works.size(), 1U);
    EXPECT_EQ(got(), "") << "this thread has sent it";
    run_works();
    all += got();
  }
  EXPECT_EQ(all.size(), head.size() + file.size());
  EXPECT_TRUE(all.ends_with(file));
  EXPECT_EQ(host_.armed, static_cast<std::uint32_t>(EPOLLIN)) << "for the next request";
}

TEST_F(LinkTest, TellsOfAHeadThatIsTooLarge) {
  send("GET / HTTP/1.1\r\nA: " + std::string(host_.bounds().head_bytes, 'a'));
  expect_told_refusal(431);
}

TEST_F(LinkTest, TellsOfAHeadThatIsTooSlow) {
  send("GET / HTTP/1.1\r\n");
  const auto now = Link::Clock::now();
  link_->on_time(now);
  EXPECT_TRUE(host_.refusals.empty());
  link_->on_time(now + host_.bounds().head_patience);
  expect_told_refusal(408);
}

TEST_F(LinkTest, TellsOfARequestThatNobodyHasTimeFor) {
  host_.serves = false;
  send(kWholeHead);
  const std::string answer = expect_told_refusal(503);
  EXPECT_NE(answer.find("\r\nRetry-After: 1\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\ntoo many requests wait here: try again in 1 second\n"));
}

TEST_F(LinkTest, TellsWhoIsKnownThatItAsksTooMuch) {
  host_.serves = false;
  link_->belongs_to("alice");
  send("HEAD / HTTP/1.1\r\n\r\n");
  const std::string answer = expect_told_refusal(429);
  EXPECT_NE(answer.find("\r\nRetry-After: 1\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << "the answer to a HEAD has no body";
}

TEST_F(LinkTest, DoesNotTellOfWhatOthersRefuse) {
  send(kWholeHead);
  (void)link_->take_head();
  link_->refuse(400, "an-id");
  EXPECT_NE(got().find("X-Request-Id: an-id\r\n"), std::string::npos);
  EXPECT_TRUE(host_.refusals.empty());
}

}  // namespace
}  // namespace mcp::http
