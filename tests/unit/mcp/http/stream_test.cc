// Tests what a stream holds for a reader who takes nothing yet.
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "tests/unit/mcp/http/http_fixture.h"
#include "tests/unit/mcp/pipe_client.h"

namespace mcp::http {
namespace {

constexpr std::size_t kStreamBytes = 64U << 10;
constexpr std::size_t kLargeBytes = 16U << 20;

// A stream whose reader's kernel takes no more, so that what is sent waits here.
class FullStream : public Http {
 protected:
  FullStream() {
    options_.bounds.stream_bytes = kStreamBytes;
    options_.routes.push_back({"GET", "/stream", Route::Access::kPublic, [this](const Request&) {
                                 Response response;
                                 response.content_type = "text/event-stream";
                                 response.start_stream = [this](std::shared_ptr<Stream> stream) {
                                   stream_ = std::move(stream);
                                   started_.set();
                                 };
                                 return response;
                               }});
  }

  void open() {
    start();
    fd_ = connect(16 << 10);
    send(fd_, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_TRUE(started_.wait());
  }

  // So much that some of it waits, and there is room.
  void fill() {
    while (stream_->has_room()) ASSERT_TRUE(stream_->send(std::string(kStreamBytes / 4, 's')));
  }

  void TearDown() override { ::close(fd_); }

  fake::Event started_;
  std::shared_ptr<Stream> stream_;
  int fd_ = -1;
};

TEST_F(FullStream, TakesALargeEventBehindWhatWaits) {
  open();
  fill();
  EXPECT_TRUE(stream_->send(std::string(kLargeBytes, 'l') + "last"));
  stream_->close();
  EXPECT_NE(receive(fd_).find("llast"), std::string::npos);
}

TEST_F(FullStream, TakesSmallEventsBehindALargeOne) {
  open();
  EXPECT_TRUE(stream_->send(std::string(kLargeBytes, 'l')));
  EXPECT_FALSE(stream_->has_room());
  for (int count = 0; count < 8; ++count) EXPECT_TRUE(stream_->send("small"));
  stream_->close();
  EXPECT_NE(receive(fd_).find("lsmallsmallsmallsmallsmallsmallsmallsmall"), std::string::npos);
}

TEST_F(FullStream, EndsForAReaderWhoLeavesMoreThanItsBound) {
  open();
  EXPECT_TRUE(stream_->send(std::string(kLargeBytes, 'l')));
  EXPECT_TRUE(stream_->send(std::string(kStreamBytes / 2, 's')));
  EXPECT_TRUE(stream_->send(std::string(kStreamBytes / 2, 's')));
  EXPECT_FALSE(stream_->send("s"));
  EXPECT_FALSE(stream_->send("s"));
}

// Where a principal has one call at work.
TEST_F(FullStream, KeepsNoOtherCallWaitingForItsReader) {
  options_.calls_at_work_each = options_.calls_at_work_beside_others_each = 1;
  Route patient{"GET", "/stream", Route::Access::kPublic, [this](const Request&) {
                  Response response;
                  response.start_stream = [this](const std::shared_ptr<Stream>& stream) {
                    stream_ = stream;
                    fill();
                    started_.set();
                    (void)stream->send_patiently("last");
                    stream->close();
                  };
                  return response;
                }};
  Route other{"GET", "/other", Route::Access::kPublic, [](const Request&) { return Response(); }};
  patient.work = other.work = Route::Work::kCall;
  options_.routes = {std::move(patient), std::move(other)};
  open();
  EXPECT_TRUE(ask("GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 200 "));
  EXPECT_FALSE(stream_->has_room());
  EXPECT_NE(receive(fd_).find("last"), std::string::npos);
}

TEST_F(FullStream, IsHeardToBeBrokenOff) {
  open();
  EXPECT_TRUE(stream_->send("half"));
  stream_->break_off();
  EXPECT_FALSE(stream_->send("rest"));
  std::string came(4096, '\0');
  ssize_t got = 0;
  do got = ::recv(fd_, came.data(), came.size(), 0);
  while (got > 0);
  EXPECT_EQ(got, -1) << "and not an end";
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(FullStream, TakesOneLargeEventAtATime) {
  open();
  EXPECT_TRUE(stream_->send(std::string(kLargeBytes, 'l')));
  EXPECT_FALSE(stream_->send(std::string(kLargeBytes, 'l')));
}

}  // namespace
}  // namespace mcp::http
