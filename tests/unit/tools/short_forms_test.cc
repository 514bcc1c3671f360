// What is left out of tables, tracebacks and charts so that they are short, and what is not.
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
  EXPECT_EQ(narrow_table("region |  total\n-------+-------\neast   | 300.08\nnorth  |\n(2 rows)"),
            std::string("region |  total\n-------+-------\neast   | 300.08\nnorth  |\n(2 rows)"))
      << "a cell may be cut off only where all of its row is there";
  EXPECT_EQ(narrow_table("name  | total\n------+------\nA B   |     3\n      |     4\n(2 rows)"),
            "name|total\nA B|3\n|4\n(2 rows)\n");
}

TEST(ShortForms, ATableWhoseCellsWouldRunTogetherStaysAsItIs) {
  for (const char* text :
       {"     name  units\n0  Ann Lee     66\n1      Bob      7",  // a blank in a cell
        "  name  units\n0           66\n1  Bob      7",            // an empty one
        "  a b  c\n0 1    3\n1 2    4",                            // a column of empty ones
        "region  product\neast    A    1\n        B    2",         // an index of two levels
        "a   | b\n----+--\nx|y | 1", "Empty DataFrame", "",
        "  a   b\n0 1   2\n.. .. ..\n\n[90 rows x 2 columns; 20 shown]"}) {
    EXPECT_EQ(narrow_table(text), text);
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
                            "ZeroDivisionError: division by zero\n"),
            "  cell 3, line 2\n    f(0)\n  cell 3, line 1, in f\n    def f(n): return n / 0\n"
            "ZeroDivisionError: division by zero\n");
  const std::string syntax =
      "  cell 27, line 1\n    for x in y\n              ^\nSyntaxError: no\n";
  EXPECT_EQ(short_traceback(syntax), syntax) << "nothing else says where";
  const std::string message = "ValueError: look\n    ^^^\n  here\n";
  EXPECT_EQ(short_traceback("  cell 1, line 1, in <module>\n    g()\n" + message),
            "  cell 1, line 1\n    g()\n" + message);
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
  chart["elements"][1]["group"] = "g";
  EXPECT_EQ(with_rows_of_elements(chart), chart) << "one of them says more";
  const json line = json::parse(R"({"elements": [{"points": [[1, 2]]}, {"points": [[3, 4]]}]})");
  EXPECT_EQ(with_rows_of_elements(line), line);
}

}  // namespace
