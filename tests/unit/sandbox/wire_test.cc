// Frames, JSON from outside, plans.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sandbox/box/plan_writer.h"
#include "sandbox/wire/box_protocol.h"
#include "sandbox/wire/frame.h"
#include "sandbox/wire/plan_format.h"

namespace {

using namespace sandbox::wire;
using base::Error;

TEST(Frame, RoundTrip) {
  FrameDecoder decoder(100);
  decoder.feed(encode_frame('J', "{}") + encode_frame('B', std::string("\0\xff", 2)));
  auto first = decoder.next();
  ASSERT_TRUE(first.ok() && first.value());
  EXPECT_EQ(first.value()->payload, "{}");
  auto second = decoder.next();
  ASSERT_TRUE(second.ok() && second.value());
  EXPECT_EQ(second.value()->kind, 'B');
  EXPECT_EQ(second.value()->payload, std::string("\0\xff", 2));
  EXPECT_FALSE(decoder.next().value());
}

TEST(Frame, ByteByByte) {
  FrameDecoder decoder(100);
  const std::string bytes = encode_frame('J', "[1,2]");
  for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
    decoder.feed(bytes.substr(i, 1));
    EXPECT_FALSE(decoder.next().value()) << i;
  }
  decoder.feed(bytes.substr(bytes.size() - 1));
  EXPECT_EQ(decoder.next().value()->payload, "[1,2]");
}

TEST(Frame, EmptyPayload) {
  FrameDecoder decoder(0);
  decoder.feed(encode_frame('B', ""));
  EXPECT_TRUE(decoder.next().value());
}

TEST(Frame, TooLongIsRefusedByItsHeadAlone) {
  FrameDecoder decoder(10);
  decoder.feed(encode_frame('J', std::string(11, 'x')).substr(0, 5));
  EXPECT_FALSE(decoder.next().ok());
}

TEST(Frame, UnknownKindIsRefused) {
  FrameDecoder decoder(10);
  decoder.feed(std::string("\0\0\0\0Z", 5));
  EXPECT_FALSE(decoder.next().ok());
}

TEST(Frame, ManySmallFramesKeepTheBufferSmall) {
  FrameDecoder decoder(10);
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) bytes += encode_frame('J', "1");
  decoder.feed(bytes);
  int count = 0;
  while (true) {
    auto frame = decoder.next();
    ASSERT_TRUE(frame.ok());
    if (!frame.value()) break;
    ++count;
  }
  EXPECT_EQ(count, 200'000);
}

TEST(BoxProtocol, ErrorsKeepTheirKind) {
  for (const auto kind :
       {Error::Kind::kInvalid, Error::Kind::kNotFound, Error::Kind::kLimit, Error::Kind::kConflict,
        Error::Kind::kUnsupported, Error::Kind::kUnavailable, Error::Kind::kInternal}) {
    const auto status = check_reply(error_reply(base::error(kind, "why")));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, kind);
    EXPECT_EQ(status.error().message, "why");
    EXPECT_EQ(status.error().os_errno, 0);
  }
  EXPECT_EQ(check_reply(error_reply({Error::Kind::kLimit, ENOSPC, "full"})).error().os_errno,
            ENOSPC);
  EXPECT_TRUE(check_reply({{"ok", true}}).ok());
  EXPECT_FALSE(check_reply(nlohmann::json::array()).ok());
}

TEST(Plan, RoundTrip) {
  sandbox::box::PlanWriter writer;
  writer.add(PlanOp::kHostname, {"hutch"});
  writer.add(PlanOp::kBind, {"/usr", "/usr", "r", "0", "0"});
  writer.add(PlanOp::kFile, {"/etc/empty", ""});
  const std::string bytes = writer.take();
  PlanReader reader(bytes.data(), bytes.size());
  PlanRecord record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_STREQ(record.fields[0], "hutch");
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.op, PlanOp::kBind);
  EXPECT_STREQ(record.fields[2], "r");
  ASSERT_TRUE(reader.next(record));
  EXPECT_STREQ(record.fields[1], "");
  EXPECT_FALSE(reader.next(record));
  EXPECT_TRUE(reader.ok());
}

TEST(Plan, EveryCutIsMalformedOrAtARecord) {
  sandbox::box::PlanWriter writer;
  writer.add(PlanOp::kBind, {"/usr", "/usr", "r", "0", "0"});
  const std::string bytes = writer.take();
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    PlanReader reader(bytes.data(), size);
    PlanRecord record;
    EXPECT_FALSE(reader.next(record)) << size;
    EXPECT_FALSE(reader.ok()) << size;
  }
}

TEST(Plan, UnknownOperationsAreMalformed) {
  const std::string bytes(
      "\x01\x01"
      "a\0",
      4);
  PlanReader reader(bytes.data(), bytes.size());
  PlanRecord record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_FALSE(reader.ok());
}

}  // namespace
