// Output that was meant for a terminal, as it is shown to who has none.
#include <gtest/gtest.h>

#include <string>

#include "tools/mcp/terminal_text.h"

namespace {

using tools::as_last_seen;
using tools::whole_codes;
using tools::without_codes;

struct Case {
  std::string written;
  std::string seen;
  bool over = false;
};

class TerminalText : public testing::TestWithParam<Case> {};

TEST_P(TerminalText, IsSeenAsItWasLast) {
  const auto shown = as_last_seen(GetParam().written);
  EXPECT_EQ(shown.text, GetParam().seen);
  EXPECT_EQ(shown.was_written_over, GetParam().over);
}

INSTANTIATE_TEST_SUITE_P(
    Codes, TerminalText,
    testing::Values(
        Case{"plain\ttext \n", "plain\ttext \n"},
        Case{"\x1b[1;31mred\x1b[0m and \x1b[38;5;9mmore\x1b[m\n", "red and more\n"},
        Case{"\x1b]0;title\x07named \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "named link\n"},
        Case{"\x1b(Bset\x1b[?25l hidden\x1b[?25h\n", "set hidden\n"}, Case{"a\bb\n", "b\n", true},
        Case{"N\bNA\bAM\bM\n", "NAM\n"}, Case{"10%\r\x1b[K20%\r\x1b[Kdone\n", "done\n", true},
        Case{"long line\r\x1b[32mok\x1b[0m\n", "ok\n", true},
        Case{"one\ntwo\n\x1b[1A\x1b[2Kthree\n", "one\nthree\n", true},
        Case{"a\nb\nc\n\x1b[3Ax\n\x1b[1By\n", "x\nb\ny\n", true},
        Case{"\x1b[2;5Hthere", "\n    there"}, Case{"abc\x1b[1Gx", "xbc", true},
        Case{"first\x1b[2J\x1b[Hsecond\n", "first\nsecond\n"},
        Case{"\x1b[H\x1b[Jone\n\x1b[H\x1b[Jtwo\n", "one\ntwo\n"},
        Case{"one\n\x1b[3Jtwo\n", "one\ntwo\n"},
        Case{"one\n\x1b"
             "ctwo\n",
             "one\ntwo\n"},
        Case{"one\ntwo\n\x1b[1Jthree\n", "one\ntwo\nthree\n"},
        Case{"one\ntwo\x1b[1J\nthree\n", "one\ntwo\n\nthree\n"},
        Case{"one\ntwo\nthree\x1b[2;2H\x1b[1J\n", "\n  o\nthree", true},
        Case{"shell\n\x1b[?1049heditor\x1b[?1049lshell\n", "shell\neditor\nshell\n"},
        Case{"\x1b"
             "7saved\x1b"
             "8S\n",
             "Saved\n", true},
        Case{"abcdef\x1b[3D\x1b[K\n", "abc\n", true},
        Case{"\x1b[31mé€😀\x1b[0m\b!\n", "é€!\n", true}, Case{"beep\x07\r\n", "beep\n"}));

// A page is as wide and high as it gets: no program asks how large the terminal is that nobody has.
TEST(TerminalText, APageIsLargerThanATerminal) {
  std::string lines;
  std::string seen;
  for (int line = 1; line <= 60; ++line) {
    lines += "line " + std::to_string(line) + "\n";
    seen += line == 3 ? "line 3" + std::string(293, ' ') + "far\n"
                      : "line " + std::to_string(line) + "\n";
  }
  const auto shown = as_last_seen(lines + "\x1b[58A\x1b[300Gfar\x1b[61;1Hend\n");
  EXPECT_EQ(shown.text, seen + "end\n");
  EXPECT_FALSE(shown.was_written_over);
  const auto wide = as_last_seen(std::string(200, '-') + "\x1b[100;201Hlast");
  EXPECT_EQ(wide.text,
            std::string(200, '-') + std::string(99, '\n') + std::string(200, ' ') + "last");
}

TEST(TerminalText, NoMoveMakesMuchOfNothing) {
  for (const char* move : {"\x1b[999999999B", "\x1b[999999999C", "\x1b[999999999;999999999H",
                           "\x1b[999999999G", "\x1b[999999999d"}) {
    EXPECT_LT(as_last_seen(std::string(move) + "x").text.size(), 2'000U) << move + 1;
  }
}

// Its cost is bounded by what was written, whatever that asks for.
TEST(TerminalText, MuchThatIsAskedForIsNotDone) {
  const auto repeated = [](const std::string& what, std::size_t bytes) {
    std::string all;
    while (all.size() < bytes) all += what;
    return all;
  };
  constexpr std::size_t kHalf = 128 * 1024;
  const std::string lines = repeated("\x1b[999Bx", kHalf);
  for (const std::string& hostile :
       {lines, repeated("\x1b[500Cx", 2 * kHalf), lines + repeated("\x1b[1J", kHalf),
        repeated("\x1b[500C", kHalf) + "x" + repeated("\x1b[1K", kHalf),
        repeated("\x1b]", kHalf)}) {
    const auto shown = as_last_seen(hostile);
    EXPECT_LE(shown.text.size(), 5 * hostile.size() + 65'536) << hostile.substr(1, 6);
  }
  const std::size_t bytes_each = std::string_view("\x1b[999Bx").size();
  EXPECT_TRUE(as_last_seen(lines).text == std::string(lines.size() / bytes_each, 'x'));
}

TEST(TerminalText, WhatIsNoCodeStays) {
  EXPECT_EQ(as_last_seen("\x1b\x01odd").text, "\x01odd");
  EXPECT_EQ(as_last_seen("\x1b[12\nnext").text, "[12\nnext");
  EXPECT_EQ(as_last_seen("end\x1b[3").text, "end[3");
}

// Pieces of one output, cut anywhere, are together what the whole is.
TEST(TerminalText, PiecesJoin) {
  const std::string whole = "a\x1b[1;31mred\x1b[0m\x1b]0;some title\x1b\\b\x1b(Bc\x07\r50%\r60%\nd";
  const std::string plain = without_codes(whole);
  EXPECT_EQ(plain, "aredbc\r50%\r60%\nd");
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::size_t first = whole_codes(std::string_view(whole).substr(0, cut));
    EXPECT_EQ(without_codes(whole.substr(0, first)) + without_codes(whole.substr(first)), plain)
        << cut;
  }
}

}  // namespace
