// Text that has to fit a result.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/shortened_text.h"

namespace {

using namespace base;

TEST(ShortenedText, IsMeasuredAsItIsPrinted) {
  for (const std::string text :
       {"", "abc", "a\"b\\c", "\n\t\r\b\f", "\x01\x1f", "\x7f", "h\xc3\xa9\xe2\x82\xac"}) {
    const std::string printed = nlohmann::json(text).dump();
    std::size_t characters = 0;
    for (const char byte : printed)
      characters += (static_cast<unsigned char>(byte) & 0xc0) != 0x80 ? 1 : 0;
    EXPECT_EQ(base::printed_characters(text), characters - 2) << printed;
  }
}

TEST(ShortenedText, PrefixesEndBetweenCharacters) {
  const std::string text =
      "a\xe2\x82\xac"
      "b";
  EXPECT_EQ(base::printed_prefix(text, 0), 0U);
  EXPECT_EQ(base::printed_prefix(text, 1), 1U);
  EXPECT_EQ(base::printed_prefix(text, 2), 4U);
  EXPECT_EQ(base::printed_prefix(text, 9), 5U);
}

TEST(ShortenedText, KeepsHeadAndTail) {
  EXPECT_EQ(base::shortened("short", 100), "short");
  for (const std::string unit : {"x", "\xe2\x82\xac", "\x01", "\n"}) {
    std::string text = "HEAD";
    for (int i = 0; i < 5000; ++i) text += unit;
    text += "TAIL";
    const std::string cut = base::shortened(text, 1000, "; more in F");
    EXPECT_LE(base::printed_characters(cut), 1000U) << unit;
    EXPECT_GT(base::printed_characters(cut), 800U) << unit;
    EXPECT_TRUE(cut.starts_with("HEAD") && cut.ends_with("TAIL")) << cut;
    EXPECT_NE(cut.find(" bytes left out; more in F ..."), std::string::npos);
    EXPECT_NO_THROW((void)nlohmann::json(cut).dump()) << "cut inside a character";
  }
}

TEST(ShortenedText, NeverShowsHalfOfANumber) {
  std::string text;
  for (int i = 0; i < 5'000; ++i)
    text += std::to_string(std::int64_t{1'000'003} * i) + (i % 3 ? ", " : ".25 ");
  const std::string around = " " + text;
  for (std::size_t most = 200; most < 260; ++most) {
    const std::string cut = base::shortened(text, most);
    const std::size_t gap = cut.find("\n... ");
    const std::size_t end = cut.find(" ...\n");
    ASSERT_NE(end, std::string::npos);
    const std::string head = cut.substr(0, gap);
    const std::string last = head.substr(head.find_last_of(' ', head.size() - 2) + 1);
    EXPECT_NE(around.find(" " + last + (last.ends_with(' ') ? "" : " ")), std::string::npos) << cut;
    const std::string tail = cut.substr(end + 5);
    const std::string first = tail.substr(0, tail.find(' ', 1));
    EXPECT_NE(around.find((first.starts_with(' ') ? "" : " ") + first + " "), std::string::npos)
        << cut;
  }
}

TEST(ShortenedText, CountsWhatWasMissingBefore) {
  const std::string whole(100'000, 'x');
  const std::string once = base::shortened(whole, 20'000);
  const std::string twice = base::shortened(once, 1'000, "", whole.size());
  const auto kept = static_cast<std::size_t>(std::count(twice.begin(), twice.end(), 'x'));
  EXPECT_NE(twice.find("\n... " + std::to_string(whole.size() - kept) + " bytes left out"),
            std::string::npos)
      << twice;
}

TEST(EchoedText, IsWholeCharactersOfItsBeginning) {
  EXPECT_EQ(base::echoed("limit"), "limit");
  EXPECT_EQ(base::echoed(std::string(200, 'x')), std::string(100, 'x'));
  std::string euros;
  for (int i = 0; i < 200; ++i) euros += "\xe2\x82\xac";
  EXPECT_EQ(base::echoed(euros), euros.substr(0, 300));
}

}  // namespace
