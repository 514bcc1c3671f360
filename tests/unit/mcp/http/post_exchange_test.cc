// The answer to one POST, as JSON and as a stream.
#include "mcp/http/post_exchange.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace mcp::http {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

struct Put {
  std::vector<std::string> kept;
  std::vector<std::string> dropped;  // put where there is no room
  bool finished = false;
};

class FullSink final : public EventSink {
 public:
  explicit FullSink(Put& put) : put_(put) {}
  void put(const std::string& message) override { put_.kept.push_back(message); }
  void put_if_room(const std::string& message) override { put_.dropped.push_back(message); }
  void finish() override { put_.finished = true; }

 private:
  Put& put_;
};

class PostExchangeTest : public testing::Test {
 protected:
  Put put;
  PostExchange exchange{[this] { return std::make_unique<FullSink>(put); }, nullptr};
  const json answer = {{"id", 1}, {"result", json::object()}};
};

json progress(const std::string& message) {
  return {{"method", "notifications/progress"}, {"params", {{"message", message}}}};
}

TEST_F(PostExchangeTest, AnAnswerAloneIsJson) {
  exchange.send(answer);
  const auto sent = exchange.wait(milliseconds(0));
  ASSERT_TRUE(sent);
  EXPECT_EQ(**sent, answer);
  EXPECT_TRUE(put.kept.empty());
}

TEST_F(PostExchangeTest, WhatIsSaidBeforeTheClientReadsIsKept) {
  for (const char* text : {"one", "two", "three"}) exchange.send_if_room(progress(text));
  exchange.send(answer);
  EXPECT_FALSE(exchange.wait(milliseconds(0)));
  EXPECT_EQ(put.kept, (std::vector<std::string>{progress("one").dump(), progress("two").dump(),
                                                progress("three").dump(), answer.dump()}));
  EXPECT_TRUE(put.dropped.empty());
}

TEST_F(PostExchangeTest, WhatIsKeptInAnyCaseIsBounded) {
  const json large = progress(std::string(kKeptAnywayBytesMax / 2, 'x'));
  for (int i = 0; i < 3; ++i) exchange.send_if_room(large);
  EXPECT_EQ(put.kept.size(), 1U);
  EXPECT_EQ(put.dropped.size(), 2U);
}

TEST_F(PostExchangeTest, AStreamThatWasBegunTakesEvenAnEarlyAnswer) {
  exchange.begin_stream();
  exchange.send(answer);
  exchange.end();
  EXPECT_FALSE(exchange.wait(milliseconds(0)));
  EXPECT_EQ(put.kept, std::vector<std::string>{answer.dump()});
  EXPECT_TRUE(put.finished);
}

}  // namespace
}  // namespace mcp::http
