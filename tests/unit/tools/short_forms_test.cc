// Tests what is left out of tables, tracebacks and charts so that they are short, and what is not.
#include "tools/mcp/short_forms.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using namespace tools;
using nlohmann::json;

TEST(ShortForms, ATableHasNoBlanksThatAlign) {
  EXPECT_EQ(narrow_table("  region  units\n0   east     66\n1   west      7"),
            " region units\n0 east 66\n1 west 7\n");
  EXPECT_EQ(narrow_table("region   east  north\nproduct             \nA         1.5      2\n"
                         "B          12    3.5"),
            "region east north\nproduct\nA 1.5 2\nB 12 3.5\n");
  EXPECT_EQ(narrow_table("  region product          d    x\n0   east       A 2024-01-01 -1.5\n"
                         "1   west       B 2024-01-02  2.0"),
            " region product d x\n0 east A 2024-01-01 -1.5\n1 west B 2024-01-02 2.0\n");
  EXPECT_EQ(narrow_table("   größe  n\nä    1.5  2\nb   12.0  3"), " größe n\nä 1.5 2\nb 12.0 3\n");
}

TEST(ShortForms, ATableOfSqlHasAllOfItsCellsBetweenBars) {
  EXPECT_EQ(narrow_table("region |  total\n-------+-------\neast   | 300.08\nsouth  |   7.00\n"
                         "(2 rows)"),
            "region|total\neast|300.08\nsouth|7.00\n(2 rows)\n");
  EXPECT_EQ(narrow_table("name  | total\n------+------\nA B   |     3\n      |     4\n(2 rows)"),
            "name|total\nA B|3\n|4\n(2 rows)\n");
  EXPECT_EQ(narrow_table("a      | b\n-------+--\n(x)    | y\n  deep |\n(2 rows)"),
            "a|b\n(x)|y\n  deep|\n(2 rows)\n")
      << "a text's own blanks are none that align";
  EXPECT_EQ(narrow_table("line\n----\n\n  in\n(2)\n(3 rows)"), "line\n\n  in\n(2)\n(3 rows)\n")
      << "a row may be empty, or look like what stands below the rows";
}

TEST(ShortForms, ATableWhoseCellsWouldRunTogetherStaysAsItIs) {
  for (const char* text :
       {"     name  units\n0  Ann Lee     66\n1      Bob      7",  // a blank in a cell
        "  name  units\n0           66\n1  Bob      7",            // an empty one
        "  a b  c\n0 1    3\n1 2    4",                            // a column of empty ones
        "region  product\neast    A    1\n        B    2",         // an index of two levels
        "     first last\n0  Ann Lee     \n1      Bob  Ray",
        "     Product  Unit Price\n0  Green Tea           3\n1  Black Tea           4",
        "       event datetime\n0 2024-01-01 12:00:00\n1 2024-01-02 13:00:00",  // one column
        "     a b\n0  -1 -2\n1    x y",
        "     v\n  mean\n0  1.5\n1  2.5",  // names of two levels
        "a  bb   \n0  1    \n10 2    ",    // aligned to the left
        "    名\n0  东京\n1   x", "a   | b\n----+--\nx|y | 1\n(1 row)",
        "a  | b\n---+--\n1  | 2\n...\n9  | 3\n(90 rows, the first 1 and the last 1 shown)",
        "Empty DataFrame", "", "  a   b\n0 1   2\n.. .. ..\n\n[90 rows x 2 columns; 20 shown]"}) {
    EXPECT_EQ(narrow_table(text), text);
  }
}

TEST(ShortForms, ATableIsWholeWhereNothingSaysThatSomeOfItIsLeftOut) {
  for (const char* text : {"   a  b\n0  1  2", "   a\n0  1\n1  2\n\n[2 rows x 1 columns]",
                           "     v\ni     \n1  1.5", "a   | b\n----+--\nx|y | 1\n(1 row)"}) {
    EXPECT_TRUE(is_whole_table(text)) << text;
  }
  for (const char* text :
       {"    a\n0   1\n..  .\n9   3\n\n[90 rows x 1 columns; 20 shown]", "      a\n0  x...",
        "a\n-\n1\n(9 rows, the first 1 and the last 1 shown)", "a\n-\n1\n... 9 bytes left out",
        "Model(a, b)", "Model\n  a: 1\n  bc: 2", ""}) {
    EXPECT_FALSE(is_whole_table(text)) << text;
  }
}

TEST(ShortForms, ATracebackSaysWhereAndWhat) {
  EXPECT_EQ(short_traceback("Traceback (most recent call last):\n"
                            "  cell 3, line 2, in <module>\n"
                            "    f(0)\n"
                            "    ~^^^\n"
                            "  cell 3, line 1, in f\n"
                            "    def f(n): return n / 0\n"
                            "                     ~~^~~\n"
                            "ZeroDivisionError: division by zero\n",
                            "ZeroDivisionError: division by zero"),
            "  cell 3, line 2\n    f(0)\n  cell 3, line 1, in f\n    def f(n): return n / 0\n"
            "                     ~~^~~\nZeroDivisionError: division by zero\n");
  const std::string syntax =
      "  cell 27, line 1\n    for x in y\n              ^\nSyntaxError: no\n";
  EXPECT_EQ(short_traceback(syntax, "SyntaxError: no"), syntax) << "nothing else says where";
}

TEST(ShortForms, EachExceptionOfAChainHasTheMarksOfItsLine) {
  const std::string heading = "Traceback (most recent call last):\n";
  const std::string frame = "  cell 1, line 2, in g\n    a[0][1]\n    ~~~~^^^\n";
  const std::string between = "KeyError: 0\n\nDuring handling of the above exception:\n\n";
  EXPECT_EQ(short_traceback(heading + frame + between + heading + frame + "ValueError: x\n",
                            "ValueError: x"),
            frame + between + frame + "ValueError: x\n");
  EXPECT_EQ(short_traceback(heading + frame + "  [Previous line repeated 9 more times]\n" + frame +
                                "RecursionError",
                            "RecursionError"),
            "  cell 1, line 2, in g\n    a[0][1]\n  [Previous line repeated 9 more times]\n" +
                frame + "RecursionError");
}

TEST(ShortForms, AMessageStaysAsItIs) {
  const std::string frame = "  cell 1, line 1, in <module>\n    g()\n    ^^^\n";
  const std::string message =
      "ValueError: look\n\nTraceback (most recent call last):\n" + frame + frame;
  EXPECT_EQ(short_traceback("Traceback (most recent call last):\n" + frame + message, message),
            "  cell 1, line 1\n    g()\n    ^^^\n" + message);
  EXPECT_EQ(short_traceback(frame + message, "ValueError: other"), frame + message)
      << "nobody knows where the message begins";
}

TEST(ShortForms, ElementsThatAreAlikeAreRows) {
  json chart = json::parse(
      R"({"type": "bar", "elements": [{"label": "a", "value": 1}, {"label": "b", "value": 2}]})");
  const json rows = json::parse(R"([["a", 1], ["b", 2]])");
  const json shorter = with_rows_of_elements(chart);
  EXPECT_EQ(shorter["columns"], (json{"label", "value"}));
  EXPECT_EQ(shorter["elements"], rows);
  json several;
  several["elements"][0]["charts"] = json::array({chart, chart});
  EXPECT_EQ(with_rows_of_elements(several)["elements"][0]["charts"][1]["elements"], rows);
  json stacked = chart;
  for (json& bar : stacked["elements"]) bar["start"] = 7;
  EXPECT_EQ(with_rows_of_elements(stacked)["elements"][1], (json{"b", 2, 7}));
  chart["elements"][1]["group"] = "g";
  EXPECT_EQ(with_rows_of_elements(chart), chart) << "one of them says more";
  const json line = json::parse(R"({"elements": [{"points": [[1, 2]]}, {"points": [[3, 4]]}]})");
  EXPECT_EQ(with_rows_of_elements(line), line);
}

}  // namespace
