// Bodies that come packed.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "mcp/http/gunzip.h"

namespace mcp::http {
namespace {

using State = Gunzip::State;

std::string packed(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  (void)::deflateEnd(&stream);
  return out;
}

TEST(Gunzip, UnpacksInPiecesAndAllMembers) {
  const std::string one(300'000, 'a');
  const std::string both = packed(one) + packed("and more");
  Gunzip gunzip(1'000'000);
  std::string text;
  for (const char byte : both) ASSERT_EQ(gunzip.feed({&byte, 1}, text), State::kGoesOn);
  EXPECT_TRUE(gunzip.complete());
  EXPECT_EQ(text, one + "and more");
  std::string at_once;
  Gunzip other(1'000'000);
  EXPECT_EQ(other.feed(both, at_once), State::kGoesOn);
  EXPECT_TRUE(other.complete() && at_once == text);
}

TEST(Gunzip, NoticesWhatIsMissing) {
  const std::string whole = packed(std::string(1000, 'x'));
  std::string text;
  Gunzip gunzip(1'000'000);
  EXPECT_EQ(gunzip.feed(whole.substr(0, whole.size() - 1), text), State::kGoesOn);
  EXPECT_FALSE(gunzip.complete());
  Gunzip empty(10);
  EXPECT_FALSE(empty.complete());
}

TEST(Gunzip, RefusesWhatIsNoneAndWhatIsTooMuch) {
  std::string text;
  Gunzip none(100);
  EXPECT_EQ(none.feed("not packed at all", text), State::kWrong);
  Gunzip bomb(1'000'000);
  EXPECT_EQ(bomb.feed(packed(std::string(50'000'000, '0')), text), State::kTooMuch);
  EXPECT_LE(text.size(), 1'000'000U);
}

}  // namespace
}  // namespace mcp::http
