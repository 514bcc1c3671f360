#include "tools/cli/unshown_results.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

using tools::cli::csv_of_table;
using tools::cli::find_unshown;
using tools::cli::Unshown;

sandbox::Run run_with(nlohmann::json output) {
  sandbox::Run run;
  run.run_id = "run_x";
  run.outputs = {std::move(output)};
  return run;
}

TEST(CsvOfTable, QuotesWhatMustBe) {
  const auto csv = csv_of_table(
      R"({"columns": [{"name": "a,b"}, {"name": "c"}], "rows": [[1, "x\"y"], [null, "l\nm"], [1.5, true]]})");
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(csv.value(), "\"a,b\",c\n1,\"x\"\"y\"\n,\"l\nm\"\n1.5,true\n");
}

TEST(CsvOfTable, AnythingElseIsRefused) {
  for (const char* no_table : {"", "[]", "{}", R"({"columns": 1, "rows": []})",
                               R"({"columns": [], "rows": [1]})", R"({"columns": []})"}) {
    EXPECT_FALSE(csv_of_table(no_table).ok()) << no_table;
  }
  EXPECT_TRUE(csv_of_table(R"({"columns": [1], "rows": [[{"a": 1}]]})").ok());
}

TEST(FindUnshown, TellsTablesThatAreCutFromOthers) {
  const nlohmann::json table = {
      {"columns", {{{"name", "a"}}}}, {"rows", {{1}, {2}}}, {"row_count", 2}};
  EXPECT_TRUE(find_unshown(run_with({{"text", "a\n-\n1\n2\n(2 rows)"}, {"json", table}})).empty());
  const auto cut =
      find_unshown(run_with({{"text", "a\n-\n1\n(2 rows, 1 shown)"}, {"json", table}}));
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].form, Unshown::Form::kTable);
  EXPECT_EQ(cut[0].name, "1.csv");
  for (const nlohmann::json& hostile :
       {nlohmann::json(1), nlohmann::json{{"row_count", "2"}}, nlohmann::json::array()}) {
    EXPECT_TRUE(find_unshown(run_with({{"text", "1\n"}, {"json", hostile}})).empty());
  }
}

TEST(FindUnshown, KnowsPicturesAndCsv) {
  const auto found = find_unshown(
      run_with({{"image_path", "/runs/run_x/1.png"}, {"csv", "a\n1\n"}, {"text", "a"}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].form, Unshown::Form::kPicture);
  EXPECT_EQ(found[1].inline_text, "a\n1\n");
}

}  // namespace
