// Tests what a run has shown: checked, bounded, the whole in files beside the streams.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sandbox/box/job_outputs.h"
#include "sandbox/output.h"
#include "sandbox/run.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;
using nlohmann::json;
namespace fs = std::filesystem;

class JobOutputs : public testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "hutch_outputs_XXXXXX";
    ASSERT_NE(::mkdtemp(path_.data()), nullptr);
    fd_ = base::open_file(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
    begin(1 << 20);
  }
  void TearDown() override { fs::remove_all(path_); }

  void begin(std::int64_t bytes_max) {
    job_ = Job();
    job_.request.run_id = job_.run.run_id =
        "run_" + std::string(32, static_cast<char>('0' + runs_++));
    ASSERT_TRUE(open_job_files(job_, fd_.get(), bytes_max).ok());
  }
  [[nodiscard]] std::string folder() const { return path_ + "/" + job_.run.run_id; }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder() + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool exists(const std::string& name) const {
    return fs::exists(folder() + "/" + name);
  }
  bool add(const json& output, const std::string& blob = "") {
    return add_output(job_, {{"type", "output"}, {"output", output}}, blob);
  }
  bool part(const std::string& format, const std::string& bytes) {
    return add_part(job_, {{"type", "part"}, {"format", format}}, bytes);
  }
  [[nodiscard]] std::string in_box(const std::string& name) const {
    return "/runs/" + job_.run.run_id + "/" + name;
  }

  std::string path_;
  base::UniqueFd fd_;
  Job job_;
  int runs_ = 0;
};

TEST_F(JobOutputs, AreCheckedAndImagesBecomeFiles) {
  ASSERT_TRUE(add({{"is_main_result", true},
                   {"formats", {"text", "png", 5}},
                   {"text", "t"},
                   {"evil", "x"},
                   {"html", 5},
                   {"image_path", "/etc/shadow"},
                   {"files", {{"html", {{"file", "/etc/shadow"}, {"total_bytes", 1}}}}},
                   {"chart", "no object"}},
                  "\x89PNG\r\n\x1a\nrest"));
  const json& output = job_.run.outputs[0];
  EXPECT_EQ(output["formats"], (json{"text", "png"}));
  for (const char* key : {"evil", "html", "chart", "files"})
    EXPECT_FALSE(output.contains(key)) << key;
  EXPECT_EQ(output["image_path"], in_box("1.png"));
  EXPECT_EQ(read("1.png"), "\x89PNG\r\n\x1a\nrest");
  EXPECT_EQ(checked_output(output), output) << "or the server refuses it";
}

TEST_F(JobOutputs, APageIsAFileOfItsRun) {
  const std::string page = "<h1>" + std::string(600, 'x') + "</h1>";
  ASSERT_TRUE(
      add({{"formats", {"text", "html"}}, {"text", "<a.Map object at 0x7f>"}, {"html", page}}));
  ASSERT_TRUE(add({{"formats", {"text", "html"}}, {"text", "a\n1"}, {"html", page}}));
  ASSERT_TRUE(add({{"formats", {"html", "json"}}, {"json", {{"rows", 1}}}, {"html", page}}));
  ASSERT_TRUE(add({{"formats", {"html"}}, {"html", "<b>short</b>"}}));
  EXPECT_EQ(job_.run.outputs[0]["files"]["html"]["file"], in_box("1.html"));
  EXPECT_EQ(read("1.html"), page);
  EXPECT_EQ(job_.run.outputs[0]["html"], page);
  for (const int other : {1, 2, 3})
    EXPECT_FALSE(job_.run.outputs[other].contains("files")) << other;
}

TEST_F(JobOutputs, APictureIsANumberedFileOfItsRun) {
  EXPECT_EQ(picture_name({{"image_path", "/runs/run_x/12.png"}}, "run_x"), "12.png");
  for (const char* path : {"/runs/run_y/1.png", "/1.png", "1.png", "/runs/run_x/.png",
                           "/runs/run_x/../1.png", "/runs/run_x/a/1.png", "/runs/run_x/stdout"}) {
    EXPECT_EQ(picture_name({{"image_path", path}}, "run_x"), "") << path;
  }
  EXPECT_EQ(picture_name({{"image_path", 1}}, "run_x"), "");
  EXPECT_EQ(picture_name(json::object(), "run_x"), "");
}

TEST_F(JobOutputs, ABlobThatIsNoPictureIsNotKept) {
  ASSERT_TRUE(add({{"formats", {"png"}}}, "#!/bin/sh"));
  EXPECT_EQ(job_.run.image_count, 0);
  EXPECT_FALSE(job_.run.outputs[0].contains("image_path"));
  EXPECT_EQ(job_.run.outputs[0]["formats"], json::array());
}

TEST_F(JobOutputs, WhatIsTooLargeIsWholeInAFile) {
  ASSERT_TRUE(add({{"formats", {"text"}}, {"text", "small"}}));
  const std::string text(30'000, 't');
  const std::string html(30'000, 'h');
  ASSERT_TRUE(add({{"formats", {"text", "html", "json"}},
                   {"text", text},
                   {"html", html},
                   {"json", std::vector<int>(20'000, 7)}}));
  const json& output = job_.run.outputs[1];
  EXPECT_LE(output["text"].get_ref<const std::string&>().size(), kFormatCharactersMax);
  EXPECT_FALSE(output.contains("html") || output.contains("json"));
  EXPECT_EQ(output["formats"], (json{"text", "html", "json"}));
  EXPECT_EQ(output["files"]["html"], (json{{"file", in_box("2.html")}, {"total_bytes", 30'000}}));
  EXPECT_EQ(read("2.html"), html);
  EXPECT_EQ(read("2.txt"), text);
  EXPECT_EQ(json::parse(read("2.json")).size(), 20'000U);
  EXPECT_EQ(checked_output(output), output) << "or the server refuses it";
  EXPECT_FALSE(exists("1.txt")) << "what is small needs none";
}

TEST_F(JobOutputs, WhatTheRunnerHasCutIsCountedWhole) {
  ASSERT_TRUE(add_part(job_, {{"format", "text"}}, std::string(90'000, 'x')));
  ASSERT_TRUE(add({{"formats", {"text"}}, {"text", std::string(20'050, 'x')}}));
  const std::string text = job_.run.outputs[0]["text"];
  const auto kept = static_cast<std::size_t>(std::count(text.begin(), text.end(), 'x'));
  EXPECT_NE(text.find("\n... " + std::to_string(90'000 - kept) + " bytes left out"),
            std::string::npos)
      << text.substr(14'000, 1'500);
}

TEST_F(JobOutputs, ChartsAreSampledAndWholeInAFile) {
  json points = json::array();
  for (int i = 0; i < 5000; ++i) points.push_back({i, i == 1234 ? 99 : i == 4321 ? -99 : 0});
  ASSERT_TRUE(
      add({{"formats", {"chart"}},
           {"chart", {{"type", "line"}, {"elements", {{{"label", "a"}, {"points", points}}}}}}}));
  const json& output = job_.run.outputs[0];
  EXPECT_EQ(output["chart"]["sampled"], true);
  const json& shown = output["chart"]["elements"][0]["points"];
  EXPECT_LE(shown.size(), kSeriesPointsMax);
  EXPECT_GE(shown.size(), kSeriesPointsMax - 10);
  const auto has = [&shown](const json& point) {
    return std::find(shown.begin(), shown.end(), point) != shown.end();
  };
  EXPECT_TRUE(has({0, 0}) && has({4999, 0}) && has({1234, 99}) && has({4321, -99}));
  EXPECT_EQ(json::parse(read("1.chart.json"))["elements"][0]["points"], points);
  EXPECT_EQ(output["files"]["chart"]["file"], in_box("1.chart.json"));
}

TEST_F(JobOutputs, PartsBelongToTheNextOutput) {
  EXPECT_TRUE(part("html", "<b>"));
  EXPECT_TRUE(part("html", "x</b>"));
  EXPECT_TRUE(part("csv", "a,b\n"));
  ASSERT_TRUE(add({{"formats", {"text", "html", "csv"}}, {"text", "t"}}));
  EXPECT_EQ(read("1.html"), "<b>x</b>");
  EXPECT_EQ(read("1.csv"), "a,b\n");
  EXPECT_EQ(job_.run.outputs[0]["files"]["html"]["total_bytes"], 8);
  ASSERT_TRUE(add({{"formats", {"text", "html"}}, {"text", "t"}}));
  EXPECT_FALSE(job_.run.outputs[1].contains("files"));
  EXPECT_EQ(job_.run.outputs[1]["formats"], json{"text"});
}

TEST_F(JobOutputs, PartsOfNothingAreRemoved) {
  EXPECT_TRUE(part("html", "<b>"));
  drop_parts(job_);
  EXPECT_FALSE(exists("1.html"));
  EXPECT_EQ(job_.files_bytes, 0);
}

TEST_F(JobOutputs, OnlyKnownFormsHaveFiles) {
  for (const char* name : {"", "exe", "../../x", "stdout", "png"})
    EXPECT_FALSE(part(name, "x")) << name;
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 0);
}

TEST_F(JobOutputs, AllFilesTogetherAreBounded) {
  begin(1000);
  EXPECT_TRUE(part("html", std::string(600, 'h')));
  EXPECT_FALSE(part("html", std::string(600, 'h')));
  EXPECT_FALSE(part("html", "h")) << "not the end of something whose middle is missing";
  EXPECT_FALSE(exists("1.html"));
  EXPECT_TRUE(part("csv", std::string(900, 'c')));
  EXPECT_FALSE(
      add({{"formats", {"text", "html", "png", "csv"}}, {"text", std::string(30'000, 't')}},
          "\x89PNG\r\n\x1a\n" + std::string(200, 'p')));
  const json& output = job_.run.outputs[0];
  EXPECT_EQ(output["formats"], json{"csv"});
  EXPECT_EQ(read("1.csv").size(), 900U);
  EXPECT_FALSE(exists("1.png") || exists("1.txt"));
}

TEST_F(JobOutputs, WritingWhatIsDroppedComesToAnEnd) {
  begin(1000);
  int written = 0;
  while (written < 100 && part("html", std::string(900, 'h'))) {
    ++written;
    drop_parts(job_);
  }
  EXPECT_EQ(written, 4);
}

TEST_F(JobOutputs, TheRecordIsBounded) {
  begin(64 << 20);
  int taken = 0;
  while (taken < 1000 && add({{"text", std::string(1 << 19, 'x')}})) ++taken;
  EXPECT_EQ(taken, 100);
  EXPECT_LT(json(job_.run.outputs).dump().size(), std::size_t{3} << 20);
}

TEST_F(JobOutputs, ManySmallValuesAreBoundedToo) {
  json many = json::array();
  for (int i = 0; i < 6'000; ++i) many.push_back(json::array());
  int taken = 0;
  while (taken < 100 && add({{"json", many}})) ++taken;
  EXPECT_EQ(taken, 16);
  EXPECT_FALSE(exists("17.json"));
}

TEST(SampleChart, EveryKindIsThinned) {
  json bars = json::array();
  for (int i = 0; i < 50; ++i)
    bars.push_back({{"label", std::to_string(i)}, {"value", i == 30 ? 9 : 1}});
  json chart = {{"type", "bar"}, {"elements", bars}};
  EXPECT_FALSE(sample_chart(chart, 50));
  EXPECT_FALSE(chart.contains("sampled"));
  EXPECT_TRUE(sample_chart(chart, 10));
  EXPECT_LE(chart["elements"].size(), 10U);
  EXPECT_EQ(chart["elements"].front()["label"], "0");
  EXPECT_EQ(chart["elements"].back()["label"], "49");
  EXPECT_NE(std::find(chart["elements"].begin(), chart["elements"].end(), bars[30]),
            chart["elements"].end());

  json both = {{"type", "composite"},
               {"elements", {{{"charts", {{{"elements", bars}}, {{"elements", json::array()}}}}}}}};
  EXPECT_TRUE(sample_chart(both, 10));
  EXPECT_EQ(both["elements"][0]["charts"][0]["sampled"], true);
  EXPECT_FALSE(both["elements"][0]["charts"][1].contains("sampled"));

  const std::vector<std::vector<int>> cells(60, std::vector<int>(90, 1));
  json grid = {{"elements",
                {{{"x", std::vector<int>(90)}, {"y", std::vector<int>(60)}, {"values", cells}}}}};
  EXPECT_TRUE(sample_chart(grid, 100));
  const json& thinned = grid["elements"][0];
  EXPECT_EQ(thinned["values"].size(), thinned["y"].size());
  EXPECT_EQ(thinned["values"][0].size(), thinned["x"].size());
  EXPECT_LE(thinned["x"].size() * thinned["y"].size(), 250U);
}

TEST(SampleChart, TheHighestBinStaysWhateverItsHeightIsCalled) {
  for (const char* name : {"count", "density", "cumulative_proportion", "height"}) {
    json bins = json::array();
    for (int i = 0; i < 50; ++i) {
      bins.push_back({{"from", i}, {"to", i + 1}, {name, i == 30 ? 9 : 1}});
    }
    json chart = {{"type", "histogram"}, {"elements", bins}};
    EXPECT_TRUE(sample_chart(chart, 10));
    const json& kept = chart["elements"];
    EXPECT_NE(std::find(kept.begin(), kept.end(), bins[30]), kept.end()) << name;
  }
}

TEST(SampleChart, WhateverItIsGivenIsTakenCalmly) {
  for (const char* text : {"5", "[]", "{}", R"({"elements":5})",
                           R"({"elements":[[],5,null,"x",{"points":3},{"values":4}]})",
                           R"({"elements":[{"charts":[{"elements":[{"charts":7}]}]}]})",
                           R"({"elements":[{"values":[[1],2,[3,4,5],{}]}]})"}) {
    json chart = json::parse(text);
    const json before = chart;
    EXPECT_FALSE(sample_chart(chart, 10)) << text;
    EXPECT_EQ(chart, before) << text;
  }
  json odd = {{"elements",
               {{{"points", {1, "a", nullptr, {1}, {1, nullptr}, {1, 2}, {1, 5}, {1, 3}, 0}}}}}};
  EXPECT_TRUE(sample_chart(odd, 6));
  EXPECT_LE(odd["elements"][0]["points"].size(), 6U);
}

}  // namespace
