// Text, taken apart and put together.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace {

using namespace base;
using Words = std::vector<std::string>;
using Pieces = std::vector<std::string_view>;

TEST(Text, LowerKnowsAsciiAlone) {
  EXPECT_EQ(lower("Content-TYPE: [Z@`{"), "content-type: [z@`{");
  EXPECT_EQ(lower("\xc3\x84"), "\xc3\x84");
}

TEST(Text, TrimTakesBothEnds) {
  EXPECT_EQ(trim(" \t a b\t"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim("a\n"), "a\n");
  EXPECT_EQ(trim("--a-", "-"), "a");
}

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,b", ','), (Pieces{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Pieces{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), Pieces{""});
}

TEST(Text, WhatEndsPiecesBeginsNone) {
  EXPECT_EQ(split_at_ends("a\n\nb\n"), (Pieces{"a", "", "b"}));
  EXPECT_EQ(split_at_ends("a\nb"), (Pieces{"a", "b"}));
  EXPECT_EQ(split_at_ends("\n\n"), (Pieces{"", ""}));
  EXPECT_EQ(split_at_ends("a; ", ';'), (Pieces{"a", " "}));
  EXPECT_TRUE(split_at_ends("").empty());
}

TEST(Text, WordsAreNeverEmpty) {
  EXPECT_EQ(words_of(" a,, b\t,\n", ','), (Words{"a", "b"}));
  EXPECT_EQ(words_of("cpu  memory\n"), (Words{"cpu", "memory"}));
  EXPECT_EQ(words_of("a b", ','), Words{"a b"});
  EXPECT_TRUE(words_of("  ").empty());
}

TEST(Text, SeparatorsStandBetweenParts) {
  EXPECT_EQ(join(Words{"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join(Pieces{"a"}, ";"), "a");
  EXPECT_EQ(join(Words{}), "");
  std::string list;
  append_part(list, "a", "; ");
  append_part(list, "b", "; ");
  EXPECT_EQ(list, "a; b");
}

TEST(Text, AnyRangeOfTextsMayContainOne) {
  static constexpr const char* kWords[] = {"a", "b"};
  EXPECT_TRUE(contains(kWords, "b"));
  EXPECT_TRUE(contains(Words{"a"}, "a"));
  EXPECT_FALSE(contains(Pieces{"ab"}, "a"));
  EXPECT_FALSE(contains(Words{}, ""));
}

TEST(Text, ANameIsTheEndOfItsPath) {
  EXPECT_EQ(name_of_path("/a/b.txt"), "b.txt");
  EXPECT_EQ(name_of_path("b.txt"), "b.txt");
  EXPECT_EQ(name_of_path("/a/"), "");
}

TEST(Text, HexHasTwoDigitsForEachByte) {
  EXPECT_EQ(in_hex(std::string_view("\x00\x1f\xff", 3)), "001fff");
  EXPECT_EQ(in_hex(""), "");
}

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(number_of<int>("-12"), -12);
  EXPECT_EQ(number_of<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(number_of<std::int64_t>("ff", 16), 255);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "1.0", "99999999999"}) {
    EXPECT_EQ(number_of<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(number_of<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(number_of<unsigned>("-1"), std::nullopt);
}

TEST(Text, AQuotedWordIsOneToAShell) {
  EXPECT_EQ(quoted_for_shell(""), "''");
  EXPECT_EQ(quoted_for_shell("a b$c"), "'a b$c'");
  EXPECT_EQ(quoted_for_shell("it's"), "'it'\\''s'");
}

}  // namespace
