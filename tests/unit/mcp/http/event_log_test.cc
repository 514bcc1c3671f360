// Streams of a session, lost and taken up again.
#include "mcp/http/event_log.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mcp::http {
namespace {

class Reader final : public Stream {
 public:
  bool send(std::string bytes) override {
    if (gone) return false;
    events.push_back(std::move(bytes));
    return true;
  }
  bool send_patiently(std::string bytes) override { return send(std::move(bytes)); }
  [[nodiscard]] bool has_room() const override { return room; }
  void break_off() override { close(); }
  void close() override { closed = true; }
  void on_gone(std::function<void()>) override {}

  std::vector<std::string> events;
  bool gone = false;
  bool room = true;
  bool closed = false;
};

std::string event(const char* id, const char* text) {
  return std::string("id: ") + id + "\nevent: message\ndata: " + text + "\n\n";
}

TEST(EventLog, PrimesAReaderAndSendsWhatHasCome) {
  EventLog log({});
  const auto stream = log.open();
  log.append(stream, "one");
  const auto reader = std::make_shared<Reader>();
  log.attach({stream, 0}, reader, true);
  log.append(stream, "two");
  log.finish(stream);
  EXPECT_EQ(reader->events, (std::vector<std::string>{"id: 1-0\nretry: 1000\ndata: \n\n",
                                                      event("1-1", "one"), event("1-2", "two")}));
  EXPECT_TRUE(reader->closed);
  EXPECT_FALSE(log.has_readers());
}

TEST(EventLog, AReaderThatIsGoneMissesNothing) {
  EventLog log({});
  const auto stream = log.open();
  const auto first = std::make_shared<Reader>();
  log.attach({stream, 0}, first, false);
  log.append(stream, "one");
  first->gone = true;
  log.append(stream, "two");
  log.finish(stream);
  EXPECT_TRUE(log.can_attach({stream, 1}));
  EXPECT_FALSE(log.can_attach({stream, 3})) << "that has not been yet";
  const auto second = std::make_shared<Reader>();
  log.attach({stream, 1}, second, false);
  EXPECT_EQ(second->events, std::vector<std::string>{event("1-2", "two")});
  EXPECT_TRUE(second->closed);
}

TEST(EventLog, OnlyTheReaderThatHasGoneLeaves) {
  EventLog log({});
  const auto first = std::make_shared<Reader>();
  const auto second = std::make_shared<Reader>();
  log.attach({EventLog::kUnsolicited, 0}, first, false);
  log.attach({EventLog::kUnsolicited, 0}, second, false);
  log.leave(EventLog::kUnsolicited, first);
  EXPECT_TRUE(log.has_readers());
  log.leave(EventLog::kUnsolicited, second);
  EXPECT_FALSE(log.has_readers());
  EXPECT_EQ(second.use_count(), 1) << "with it its socket stays open";
}

TEST(EventLog, WhatMayBeDroppedIsNotKept) {
  EventLog log({});
  const auto stream = log.open();
  const auto reader = std::make_shared<Reader>();
  log.append_if_room(stream, "nobody hears it");
  log.attach({stream, 0}, reader, false);
  log.append_if_room(stream, "heard");
  reader->room = false;
  log.append_if_room(stream, "no room");
  EXPECT_EQ(reader->events, std::vector<std::string>{event("1-0", "heard")});
}

TEST(EventLog, TheNewestReaderGetsTheStream) {
  EventLog log({});
  const auto first = std::make_shared<Reader>();
  const auto second = std::make_shared<Reader>();
  log.attach(log.last(EventLog::kUnsolicited), first, false);
  log.attach(log.last(EventLog::kUnsolicited), second, false);
  log.append(EventLog::kUnsolicited, "news");
  EXPECT_TRUE(first->closed);
  EXPECT_TRUE(first->events.empty());
  EXPECT_EQ(second->events, std::vector<std::string>{event("0-1", "news")});
}

TEST(EventLog, ForgetsEndedStreamsFirstAndSaysSo) {
  EventLog log({.bytes = 30, .streams = 8});
  const auto ended = log.open();
  log.append(ended, "0123456789");
  log.finish(ended);
  const auto also_ended = log.open();
  log.finish(also_ended);
  const auto open = log.open();
  for (int i = 0; i < 4; ++i) log.append(open, "0123456789");
  EXPECT_FALSE(log.can_attach({ended, 0}));
  EXPECT_FALSE(log.can_attach({open, 0})) << "its first event is forgotten";
  EXPECT_TRUE(log.can_attach({open, 1}));
}

TEST(EventLog, KeepsOneEventHoweverLarge) {
  EventLog log({.bytes = 10, .streams = 8});
  const auto stream = log.open();
  log.append(stream, std::string(1000, 'x'));
  EXPECT_TRUE(log.can_attach({stream, 0}));
}

TEST(EventLog, WhatAReaderHasTakenIsNotKeptBeyondWhatAllMayHold) {
  const auto all = std::make_shared<Budget>(100);
  const auto ended = [&](const std::shared_ptr<Stream>& reader) {
    auto log = std::make_unique<EventLog>(EventLog::Limits{.all = all, .principal_id = "greedy"});
    const auto stream = log->open();
    log->append(stream, std::string(80, 'x'));
    log->finish(stream);
    if (reader != nullptr) log->attach({stream, 0}, reader, false);
    return log;
  };
  const auto first = ended(std::make_shared<Reader>());
  EXPECT_TRUE(first->can_attach({1, 0})) << "there is room";
  const auto reader = std::make_shared<Reader>();
  const auto second = ended(reader);
  EXPECT_EQ(reader->events.size(), 1U);
  EXPECT_FALSE(second->can_attach({1, 0}));
  const auto third = ended(nullptr);
  EXPECT_TRUE(third->can_attach({1, 0})) << "nobody has it yet";
}

TEST(EventLog, SaysWhenThereIsNothingToComeAnyMore) {
  EventLog log({});
  const auto stream = log.open();
  log.append(stream, "one");
  EXPECT_FALSE(log.is_over({stream, 1})) << "it goes on";
  log.finish(stream);
  EXPECT_TRUE(log.is_over({stream, 1}));
  EXPECT_FALSE(log.is_over({stream, 0})) << "one was missed";
  EXPECT_FALSE(log.is_over({stream + 1, 0})) << "no such stream";
}

TEST(EventLog, KeepsABoundedNumberOfEndedStreams) {
  EventLog log({.bytes = 1000, .streams = 2});
  for (int i = 0; i < 10; ++i) log.finish(log.open());
  EXPECT_FALSE(log.can_attach({1, 0}));
  EXPECT_TRUE(log.can_attach({10, 0}));
}

TEST(EventId, HasOneSpelling) {
  EXPECT_EQ(to_string(EventId{3, 12}), "3-12");
  const auto id = parse_event_id("3-12");
  ASSERT_TRUE(id.has_value());
  EXPECT_EQ(id->stream, 3U);
  EXPECT_EQ(id->sequence, 12U);
  for (const char* wrong : {"", "-", "3", "3-", "-3", "03-1", "3-01", "3-1-1", "+3-1", " 3-1",
                            "3-1 ", "3_1", "18446744073709551616-0"}) {
    EXPECT_FALSE(parse_event_id(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace mcp::http
