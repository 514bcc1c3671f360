// A run as clients see it: what is shown, what is left out and where that is.
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tools/mcp/output_view.h"
#include "tools/mcp/run_text.h"
#include "tools/mcp/run_view.h"

namespace {

using namespace tools;
using nlohmann::json;

sandbox::Run finished_run() {
  sandbox::Run run;
  run.run_id = "run_x";
  run.status = sandbox::RunStatus::kCompleted;
  run.exit_code = 0;
  return run;
}

json view_of(sandbox::Run& run, const std::string& out, std::optional<std::int64_t> offset = {},
             const std::string& err = "") {
  run.stdout_bytes = static_cast<std::int64_t>(out.size());
  run.stderr_bytes = static_cast<std::int64_t>(err.size());
  return structured_run(
      {"session_x",
       run,
       [&](Stream stream, std::int64_t from, std::size_t size) -> base::Result<std::string> {
         const std::string& written = stream == Stream::kStdout ? out : err;
         return written.substr(std::min(static_cast<std::size_t>(from), written.size()), size);
       },
       offset,
       {}});
}

TEST(RunView, ShortOutputIsWhole) {
  sandbox::Run run = finished_run();
  const json value = view_of(run, "hello\n");
  EXPECT_EQ(value["stdout"], "hello\n");
  for (const char* absent : {"truncated", "stdout_next_offset", "exit_code", "error", "network"}) {
    EXPECT_FALSE(value.contains(absent)) << absent;
  }
  EXPECT_EQ(view_of(run, "hello\n", 2)["stdout_next_offset"], 6) << "who reads on goes on";
}

TEST(RunView, WhatSaysNothingIsLeftOut) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.error = sandbox::RunError{"ValueError", "", "", sandbox::Cause::kException, "", ""};
  run.network.refused.push_back({"evil.test", "not allowed"});
  const json value = view_of(run, "");
  EXPECT_EQ(value["error"], (json{{"name", "ValueError"}, {"cause", "exception"}}));
  EXPECT_EQ(value["network"],
            (json{{"refused", {{{"host", "evil.test"}, {"reason", "not allowed"}}}}}));
  EXPECT_NE(text_of_run(value).find("error (exception): ValueError\n"), std::string::npos)
      << text_of_run(value);
  run.network.refused.clear();
  run.network.allowed = {"web.test:80"};
  EXPECT_EQ(view_of(run, "")["network"], (json{{"allowed", {"web.test:80"}}, {"bytes", 0}}));
  EXPECT_NE(text_of_run(view_of(run, "")).find("network: reached web.test:80, 0 bytes\n"),
            std::string::npos);
}

TEST(RunView, LongOutputIsHeadAndTail) {
  sandbox::Run run = finished_run();
  const json value = view_of(run, "HEAD" + std::string(100'000, 'x') + "TAIL");
  const auto text = value["stdout"].get<std::string>();
  EXPECT_TRUE(text.starts_with("HEAD") && text.ends_with("TAIL"));
  EXPECT_LE(text.size(), kInlineOutputCharacters);
  const std::size_t head = text.find("\n...");
  EXPECT_GT(head, 3'900U);
  EXPECT_LT(head, 4'000U);
  EXPECT_NE(text.find(" bytes left out ..."), std::string::npos);
  EXPECT_EQ(view_of(run, std::string(100'000, 'x'), 0)["stdout"].get<std::string>().size(),
            kFollowedOutputBytes);
  EXPECT_EQ(value["truncated"]["stdout"]["total_bytes"], 100'008);
  EXPECT_EQ(value["truncated"]["stdout"]["file"], "/runs/run_x/stdout");
}

// A number of which the first digits are missing is another number.
TEST(RunView, LinesAreWholeWhereOutputIsCut) {
  for (const int lines : {5'000, 400'000}) {
    sandbox::Run run = finished_run();
    std::string output;
    for (int i = 0; i < lines; ++i) output += std::to_string(1'000'000 + i) + "\n";
    const auto text = view_of(run, output)["stdout"].get<std::string>();
    std::istringstream shown(text);
    std::size_t numbers = 0, missing = 0;
    for (std::string line; std::getline(shown, line);) {
      if (line.starts_with("... ")) {
        missing = std::stoul(line.substr(4));
      } else {
        EXPECT_EQ(line.size(), 7U) << line;
        ++numbers;
      }
    }
    EXPECT_GT(numbers, 1'000U);
    // The end of the line before stands for the first of those that are missing.
    EXPECT_EQ(8 * numbers + missing, output.size() + 1);
  }
}

TEST(RunView, ACharacterOfWhichThereIsOnlyTheBeginningIsShownOnceItIsWhole) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kRunning;
  const std::string whole = std::string(100'000, 'x') + "\u00e4";
  const json before = view_of(run, whole.substr(0, whole.size() - 1));
  EXPECT_TRUE(before["stdout"].get<std::string>().ends_with("xx"));
  EXPECT_EQ(before["stdout_next_offset"], 100'000);
  EXPECT_EQ(view_of(run, whole, 100'000)["stdout"], "\u00e4");
  run.status = sandbox::RunStatus::kCompleted;
  EXPECT_EQ(view_of(run, whole.substr(0, whole.size() - 1))["stdout_next_offset"], 100'001);
}

TEST(RunView, LinesThatRepeatAreCounted) {
  sandbox::Run run = finished_run();
  std::string same;
  for (int i = 0; i < 3'000; ++i) same += "WARNING: again\n";
  const json value = view_of(run, same + "end\nend\n");
  EXPECT_EQ(value["stdout"], "WARNING: again\n... the same line 2999 times more ...\nend\nend\n");
  EXPECT_FALSE(value.contains("truncated")) << "all is told";
  std::string warnings;
  for (int i = 0; i < 30; ++i)
    warnings += "cell 1, line 2: PerformanceWarning: it is in pieces\n  df[i] = 1\n";
  EXPECT_EQ(view_of(run, "a\n" + warnings + "  df[i] = 2\n")["stdout"],
            "a\ncell 1, line 2: PerformanceWarning: it is in pieces\n  df[i] = 1\n... the same 2 "
            "lines 29 times more ...\n  df[i] = 2\n");
  const std::string few = "HTTP/1.1 403\nHTTP/1.1 403\nHTTP/1.1 403\nHTTP/1.1 403\n";
  EXPECT_EQ(view_of(run, few)["stdout"], few) << "whoever reads them line by line finds them";
  EXPECT_EQ(view_of(run, same, 45'000 - 30)["stdout"], "WARNING: again\nWARNING: again\n")
      << "pieces join";
}

TEST(RunView, LinesThatRepeatAreCountedWhereverTheyStand) {
  sandbox::Run run = finished_run();
  const auto repeated = [](const std::string& line, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += line;
    return text;
  };
  const std::string same = repeated("again\n", 500);
  EXPECT_EQ(view_of(run, "", {}, same)["stderr"], "again\n... the same line 499 times more ...\n");
  EXPECT_EQ(view_of(run, repeated("\x1b[31magain\x1b[0m\n", 500))["stdout"],
            "again\n... the same line 499 times more ...\n");
  EXPECT_EQ(view_of(run, same + "other\n" + same)["stdout"],
            "again\n... the same line 499 times more ...\nother\n"
            "again\n... the same line 499 times more ...\n");
  const std::string hundred = std::string(99, 'x') + "\n";
  EXPECT_EQ(view_of(run, repeated(hundred, 10))["stdout"], repeated(hundred, 10));
  EXPECT_EQ(view_of(run, repeated(hundred, 11))["stdout"],
            hundred + "... the same line 10 times more ...\n");
  const std::string much = view_of(run, repeated(hundred, 5'000)).value("stdout", "");
  EXPECT_TRUE(much.starts_with(hundred + "... the same line ")) << much;
}

TEST(RunView, WhatATerminalWouldPadIsBounded) {
  sandbox::Run run = finished_run();
  std::string padded;
  while (padded.size() < 700) padded += "\x1b[500Cx";
  const json value = view_of(run, padded);
  EXPECT_LE(value["stdout"].get<std::string>().size(), 3 * kInlineOutputCharacters);
  EXPECT_TRUE(value.contains("truncated"));
}

TEST(RunView, WhatATerminalWouldPadOfMuchLeavesRoomForOutputs) {
  sandbox::Run run = finished_run();
  run.outputs = std::vector<json>({{{"formats", {"text"}}, {"text", "the result"}}});
  std::string padded = "HEAD";
  for (int i = 0; padded.size() < 300'000; ++i)
    padded += "\x1b[150G" + std::to_string(i % 10) + "\n";
  const json value = view_of(run, padded + "TAIL", {}, padded + "END");
  const auto out = value["stdout"].get<std::string>();
  const auto err = value["stderr"].get<std::string>();
  EXPECT_TRUE(out.starts_with("HEAD") && out.ends_with("TAIL")) << out;
  EXPECT_TRUE(err.starts_with("HEAD") && err.ends_with("END")) << err;
  EXPECT_LE(out.size() + err.size(), 2 * kInlineOutputCharacters);
  ASSERT_EQ(value["outputs"].size(), 1U);
  EXPECT_EQ(value["outputs"][0]["text"], "the result");
  EXPECT_EQ(value["truncated"]["stdout"]["total_bytes"], padded.size() + 4);
  EXPECT_FALSE(value["truncated"].contains("outputs"));
}

TEST(RunView, ColoursGoAndPiecesJoin) {
  sandbox::Run run = finished_run();
  const std::string written = "\x1b[31mred\x1b[0m\n";
  EXPECT_EQ(view_of(run, written)["stdout"], "red\n");
  EXPECT_FALSE(view_of(run, written).contains("note"));
  EXPECT_NE(view_of(run, "one\x1b[1Gtwo\n")["note"].get<std::string>().find("written over"),
            std::string::npos);
  run.status = sandbox::RunStatus::kRunning;
  for (std::size_t cut = 1; cut < written.size(); ++cut) {
    const json first = view_of(run, written.substr(0, cut), 0);
    const json second = view_of(run, written, first["stdout_next_offset"].get<std::int64_t>());
    EXPECT_EQ(first["stdout"].get<std::string>() + second["stdout"].get<std::string>(), "red\n");
  }
}

// A text for a terminal looks so in a value, and in what an error says.
struct CodesCase {
  std::string written;
  std::string seen;
};

class RunViewCodes : public testing::TestWithParam<CodesCase> {};

TEST_P(RunViewCodes, GoInValuesAndErrors) {
  sandbox::Run run = finished_run();
  const auto& [written, seen] = GetParam();
  run.outputs = std::vector<json>(
      {{{"formats", {"text"}}, {"text", written}, {"is_main_result", true}},
       {{"formats", {"text", "html"}}, {"text", "a " + written}, {"html", "<b>" + written}}});
  json value = view_of(run, "");
  EXPECT_EQ(value["outputs"][0],
            (json{{"formats", {"text"}}, {"is_main_result", true}, {"text", seen}}))
      << "the whole is there: nothing is cut";
  EXPECT_EQ(value["outputs"][1]["text"], "a " + seen);
  EXPECT_EQ(value["outputs"][1]["html"], "<b>" + written) << "a page is no terminal";
  EXPECT_EQ(text_of_run(value, SessionName::kUnderstood).find("completed, run_x\nresult:\n" + seen),
            0U)
      << text_of_run(value);
  run.outputs.clear();
  run.status = sandbox::RunStatus::kFailed;
  const std::string traceback =
      "Traceback (most recent call last):\n  cell 1, line 1, in <module>\n    f(x)\nE: " + written +
      "\n";
  run.error = sandbox::RunError{"E", written, traceback, sandbox::Cause::kException, "", ""};
  value = view_of(run, "");
  EXPECT_EQ(value["error"]["message"], seen);
  EXPECT_TRUE(value["error"]["traceback"].get<std::string>().ends_with("f(x)\nE: " + seen + "\n"));
  for (const std::string& before :
       {std::string("plain \n"), std::string("\x1b[33mwarned\x1b[0m \n")}) {
    value = view_of(run, "", {}, before + traceback);
    EXPECT_FALSE(value["error"].contains("traceback")) << value["stderr"];
    EXPECT_TRUE(value["stderr"].get<std::string>().ends_with(
        "\n  cell 1, line 1\n    f(x)\nE: " + seen + "\n"))
        << "it is told once, and shortened: " << value["stderr"];
    EXPECT_FALSE(view_of(run, "", 0, before + traceback)["error"].contains("traceback"));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Terminals, RunViewCodes,
    testing::Values(CodesCase{"plain", "plain"}, CodesCase{"\x1b[1;31mred\x1b[0m", "red"},
                    CodesCase{"\x1b[38;5;28;01mdef\x1b[39;00m\x1b[38;5;250m \x1b[39mf", "def f"},
                    CodesCase{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
                    CodesCase{"two\n\x1b[32mlines\x1b[0m", "two\nlines"}));

TEST(RunView, WhatWasWrittenOverInAValueIsSeenAsItWasLast) {
  sandbox::Run run = finished_run();
  const auto text_of = [&run](const std::string& written) {
    run.outputs = std::vector<json>({{{"formats", {"text"}}, {"text", written}}});
    return view_of(run, "")["outputs"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text_of("N\bNA\bA"), "NA");
  EXPECT_EQ(text_of("one\x1b[1Gtwo"), "two");
  EXPECT_EQ(text_of("a\nb\x1b[1A\x1b[2Kc"), " c\nb");
  EXPECT_EQ(text_of("old\rnew\r\n"), "old\rnew\r\n") << "it may be data";
  const std::string much = text_of("\x1b[32m" + std::string(10'000, 'x') + "\x1b[0m");
  EXPECT_NE(much.find("bytes left out"), std::string::npos);
  EXPECT_EQ(much.find('\x1b'), std::string::npos);
}

TEST(RunView, WhereSomethingWasWrittenOverTheWholeIsNamed) {
  sandbox::Run run = finished_run();
  for (const char* const written : {"important\x1b[2K\rok", "total: 100\b\b\b5", "\x07"}) {
    run.outputs = std::vector<json>({{{"formats", {"text"}}, {"text", written}}});
    EXPECT_TRUE(view_of(run, "")["outputs"][0]["truncated"].contains("text")) << written;
  }
  run.outputs = std::vector<json>({{{"formats", {"markdown"}}, {"markdown", "\x1b[31mred"}}});
  EXPECT_EQ(view_of(run, "")["outputs"][0]["markdown"], "red");
}

TEST(RunView, TheNameOfAnErrorHasNoCodes) {
  sandbox::Run run = finished_run();
  run.error =
      sandbox::RunError{"\x1b[31mRed", "m", "\x1b[31mRed: m\n", sandbox::Cause::kException, "", ""};
  EXPECT_EQ(view_of(run, "")["error"]["name"], "Red");
}

TEST(RunView, WhatIsWrittenAfterTheEndIsShownAndReadOn) {
  sandbox::Run run = finished_run();
  const std::string written = "before\nlate\n";
  run.stdout_bytes = 7;
  const auto view = [&](std::optional<std::int64_t> offset) {
    const auto read = [&](Stream stream, std::int64_t from, std::size_t size) {
      const auto start = std::min(static_cast<std::size_t>(from), written.size());
      return base::Result<std::string>(stream == Stream::kStdout ? written.substr(start, size)
                                                                 : "");
    };
    return structured_run({"session_x", run, read, offset, {}});
  };
  EXPECT_EQ(view({})["stdout"], written);
  EXPECT_EQ(view(7)["stdout"], "late\n");
  EXPECT_EQ(view(12)["stdout"], "");
}

TEST(RunView, LinesThatWereWrittenOverAreShownAsTheyWereLast) {
  sandbox::Run run = finished_run();
  std::string bar = "start\n";
  for (int i = 0; i <= 100; ++i) bar += "\r" + std::to_string(i) + "%";
  EXPECT_EQ(view_of(run, bar + "\ndone\n")["stdout"], "start\n100%\ndone\n");
  run.status = sandbox::RunStatus::kRunning;
  EXPECT_EQ(view_of(run, bar)["stdout_next_offset"], bar.size())
      << "offsets count what was written";
  run.status = sandbox::RunStatus::kCompleted;
  EXPECT_EQ(view_of(run, "dos\r\nlines\r\n")["stdout"], "dos\r\nlines\r\n");
  EXPECT_EQ(view_of(run, "10%\r20%\r")["stdout"], "20%\r") << "what comes next may end it";
  EXPECT_EQ(view_of(run, "\r\r\n\n")["stdout"], "\r\r\n\n");
}

TEST(RunView, TheTextNamesWhereToReadOnWhileThereMayBeMore) {
  sandbox::Run run = finished_run();
  EXPECT_EQ(text_of_run(view_of(run, "out")).find("to read on"), std::string::npos);
  run.status = sandbox::RunStatus::kRunning;
  EXPECT_NE(text_of_run(view_of(run, "out")).find("stdout_offset 3, stderr_offset 0"),
            std::string::npos);
  run.status = sandbox::RunStatus::kCompleted;
  const json part = view_of(run, std::string(100'000, 'x'), 1);
  EXPECT_NE(text_of_run(part).find("stdout_offset " + part["stdout_next_offset"].dump()),
            std::string::npos);
}

TEST(RunView, TheTextShowsWhatAnObjectIsNotThatItIsOne) {
  sandbox::Run run = finished_run();
  json value = view_of(run, "");
  value["outputs"] = {
      {{"text", "<IPython.core.display.Markdown object>"}, {"markdown", "# Report"}}};
  EXPECT_NE(text_of_run(value).find("# Report"), std::string::npos);
  EXPECT_EQ(text_of_run(value).find("IPython"), std::string::npos);
  value["outputs"] = {{{"text", "<thing object at 0x7f00>"}}};
  EXPECT_NE(text_of_run(value).find("<thing object at 0x7f00>"), std::string::npos);
  value["outputs"] = {{{"text", "   a\n0  1"}, {"html", "<table>"}}};
  EXPECT_NE(text_of_run(value).find("0  1"), std::string::npos);
}

TEST(RunView, TheTextOfADisplayedObjectIsItsSource) {
  sandbox::Run run = finished_run();
  json value = view_of(run, "");
  const auto text_with = [&value](const char* type, const json& forms) {
    json output = {{"text", "<IPython.core.display." + std::string(type) + " object>"}};
    output.update(forms);
    value["outputs"] = json::array({output});
    const std::string text = text_of_run(value);
    EXPECT_EQ(text.find("IPython"), std::string::npos) << text;
    return text;
  };
  EXPECT_NE(text_with("Latex", {{"latex", "$x^2$"}}).find("output:\n$x^2$\n"), std::string::npos);
  EXPECT_NE(text_with("JSON", {{"json", {{"a", {1, 2}}}}}).find("output:\n{\"a\":[1,2]}\n"),
            std::string::npos);
  const std::string large = text_with("JSON", {{"json", std::vector<int>(9'000, 7)}});
  EXPECT_LT(large.size(), 4'200U);
  EXPECT_NE(large.find("bytes left out; in /runs/run_x/record.json"), std::string::npos) << large;
  EXPECT_NE(
      text_with("SVG", {{"image_path", "/runs/run_x/1.png"}}).find("image: /runs/run_x/1.png"),
      std::string::npos);
  EXPECT_NE(text_with("SVG", {{"svg", "<svg/>"}}).find("output:\n<svg/>\n"), std::string::npos);
  const json file = {{"svg", {{"file", "/runs/run_x/1.svg"}, {"total_bytes", 70'000}}}};
  EXPECT_NE(text_with("SVG", {{"truncated", file}}).find("read_file /runs/run_x/1.svg"),
            std::string::npos);
}

TEST(RunView, OffsetsContinueAndNeverSplit) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kRunning;
  const json value = view_of(run, "ab\xe2\x82", 1);
  EXPECT_EQ(value["stdout"], "b");
  EXPECT_EQ(value["stdout_next_offset"], 2);
  EXPECT_TRUE(value.contains("note"));
  run.status = sandbox::RunStatus::kCompleted;
  EXPECT_EQ(view_of(run, "ab\xe2\x82", 2)["stdout_next_offset"], 4)
      << "at the end nothing more comes";
  EXPECT_EQ(view_of(run, "ab", 99)["stdout"], "");
}

std::string bytes(std::size_t count, char byte) { return std::string(count, byte); }

// As the box keeps it: short, and the whole in a file.
json long_output(const char* format, std::size_t total) {
  return {{"is_main_result", false},
          {"formats", {format}},
          {"files",
           {{format, {{"file", "/runs/run_x/1." + std::string(format)}, {"total_bytes", total}}}}}};
}

void expect_bounded(const json& value) {
  EXPECT_LE(json_characters(value), kResultCharacters);
  EXPECT_LE(text_of_run(value).size(), kResultCharacters);
}

TEST(RunView, WhatIsInAFileIsNamed) {
  sandbox::Run run = finished_run();
  run.outputs = std::vector<json>({long_output("html", 30'000'000), long_output("text", 50'000)});
  run.outputs[1]["text"] = bytes(20'000, 't');
  run.outputs[1]["is_main_result"] = true;
  const json value = view_of(run, "");
  EXPECT_EQ(value["outputs"][0]["truncated"]["html"],
            (json{{"file", "/runs/run_x/1.html"}, {"total_bytes", 30'000'000}}));
  EXPECT_EQ(value["outputs"][0]["formats"], json{"html"});
  EXPECT_FALSE(value["outputs"][0].contains("is_main_result"));
  EXPECT_EQ(value["outputs"][1]["is_main_result"], true);
  EXPECT_TRUE(value["outputs"][1]["text"].get<std::string>().starts_with("tttt"));
  EXPECT_LE(value["outputs"][1]["text"].get<std::string>().size(), 4'000U);
  EXPECT_EQ(value["outputs"][1]["truncated"]["text"]["total_bytes"], 50'000);
  EXPECT_FALSE(value["outputs"][0].contains("files")) << "of the box, not of the contract";
  const std::string text = text_of_run(value);
  for (const char* part : {"/runs/run_x/1.html", "30000000", "/runs/run_x/1.text"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(RunView, WhatTheTextSaysIsNotSaidAgain) {
  sandbox::Run run = finished_run();
  const json small = {{"columns", {{{"name", "a"}}}}, {"rows", {{1}}}};
  run.outputs = std::vector<json>({{{"is_main_result", true},
                                    {"formats", {"text", "html", "json"}},
                                    {"text", "   a\n0  1"},
                                    {"html", "<table>"},
                                    {"json", small}}});
  json output = view_of(run, "")["outputs"][0];
  EXPECT_FALSE(output.contains("html") || output.contains("truncated")) << output;
  EXPECT_EQ(output["json"], small);
  EXPECT_EQ(output["formats"], (json{"text", "html", "json"})) << "what there is of it";
  run.outputs[0]["text"] = "<styled object>";
  EXPECT_EQ(view_of(run, "")["outputs"][0]["html"], "<table>") << "the text says nothing";
}

TEST(RunView, DataThatATextSaysIsNamedForProgramsOnly) {
  sandbox::Run run = finished_run();
  json rows = json::array();
  for (int i = 0; i < 70; ++i) rows.push_back({i, "a name"});
  run.outputs = std::vector<json>({{{"is_main_result", true},
                                    {"formats", {"text", "html", "json"}},
                                    {"text", "    a   b\n0   1  22"},
                                    {"html", "<table>"},
                                    {"json", {{"rows", rows}}}}});
  const json value = view_of(run, "");
  EXPECT_FALSE(value["outputs"][0].contains("json"));
  EXPECT_EQ(value["outputs"][0]["truncated"]["json"]["file"], "/runs/run_x/record.json");
  EXPECT_EQ(text_of_run(value, SessionName::kUnderstood),
            "completed, run_x\nresult:\n a b\n0 1 22\n");
  run.status = sandbox::RunStatus::kRunning;
  EXPECT_EQ(view_of(run, "")["outputs"][0]["json"]["rows"], rows) << "its file comes at the end";
  run.outputs[0]["files"]["json"] = {{"file", "/runs/run_x/1.json"}, {"total_bytes", 400}};
  EXPECT_EQ(view_of(run, "")["outputs"][0]["truncated"]["json"]["file"], "/runs/run_x/1.json");
}

TEST(RunView, DataThatATextDoesNotSayIsShownOrNamed) {
  sandbox::Run run = finished_run();
  json rows = json::array();
  for (int i = 0; i < 70; ++i) rows.push_back({i, "a name"});
  const json data = {{"rows", rows}};
  for (const char* text :
       {"     a   b\n0    1  22\n..  ..  ..\n\n[90 rows x 2 columns; 20 shown]", "Model(a, b)",
        "a   | b\n----+---\n1   | 22\n...\n9   | 3\n(90 rows, the first 1 and the last 1 shown)",
        "        a   b\n0  lon...  22"}) {
    run.outputs = std::vector<json>({{{"is_main_result", true},
                                      {"formats", {"text", "html", "json"}},
                                      {"text", text},
                                      {"html", "<table>"},
                                      {"json", data}}});
    EXPECT_EQ(view_of(run, "")["outputs"][0]["json"], data) << text;
  }
  run.outputs = std::vector<json>(
      {{{"formats", {"text", "json"}}, {"text", "0     0\n     ..\n99   99"}, {"json", data}}});
  EXPECT_EQ(view_of(run, "")["outputs"][0]["json"], data) << "a Series has no HTML";
  json value = view_of(run, "");
  value["outputs"][0].erase("json");
  value["outputs"][0]["truncated"]["json"] = {{"file", "/runs/run_x/record.json"},
                                              {"total_bytes", 400}};
  EXPECT_NE(text_of_run(value).find("read_file /runs/run_x/record.json"), std::string::npos);
}

TEST(RunView, ATracebackIsShortAndTheFileHasAll) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.exit_code = 1;
  const std::string traceback =
      "Traceback (most recent call last):\n  cell 1, line 1, in <module>\n    f(x)\n    ^^^^\n"
      "NameError: name 'x' is not defined\n";
  run.error = sandbox::RunError{
      "NameError", "name 'x' is not defined", traceback, sandbox::Cause::kException, "all", ""};
  const json value = view_of(run, "", {}, "a warning\n" + traceback);
  const std::string shown =
      "a warning\n  cell 1, line 1\n    f(x)\n    ^^^^\nNameError: name 'x' is not defined\n";
  EXPECT_EQ(value["stderr"], shown);
  EXPECT_FALSE(value["error"].contains("traceback"));
  EXPECT_EQ(text_of_run(value, SessionName::kUnderstood), "failed, run_x\nstderr:\n" + shown);
  EXPECT_NE(view_of(run, "", 0, traceback)["stderr"].get<std::string>().find("^^^^"),
            std::string::npos)
      << "pieces are as they were written";
  run.language = sandbox::Language::kJavaScript;
  EXPECT_EQ(view_of(run, "", {}, traceback)["stderr"], traceback);
}

TEST(RunView, AMessageThatLooksLikeATracebackIsToldOnce) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.exit_code = 1;
  const std::string message =
      "a worker failed\n\nTraceback (most recent call last):\n  cell 9, line 1, in <module>\n"
      "    f(x)\n    ^^^^\n  cell 9, line 2, in f\n    y";
  const std::string frame = "  cell 1, line 1, in g\n    f(x)\n";
  const std::string traceback =
      "Traceback (most recent call last):\n" + frame + "RuntimeError: " + message + "\n";
  run.error =
      sandbox::RunError{"RuntimeError", message, traceback, sandbox::Cause::kException, "all", ""};
  EXPECT_EQ(text_of_run(view_of(run, "", {}, traceback), SessionName::kUnderstood),
            "failed, run_x\nstderr:\n" + frame + "RuntimeError: " + message + "\n");
}

TEST(RunView, AMessageIsToldOnceHoweverLongItIs) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.exit_code = 1;
  for (const std::size_t size : {500, 3'000, 9'000}) {
    const std::string message = std::string(size, 'x') + "\nend";
    run.error = sandbox::RunError{"ValueError", message, "", sandbox::Cause::kException, "all", ""};
    const std::string text = text_of_run(view_of(run, "", {}, "ValueError: " + message + "\n"));
    EXPECT_EQ(text.find("error (exception)"), std::string::npos) << text.substr(0, 200);
    EXPECT_LT(text.size(), size + 200);
  }
}

TEST(RunView, AMessageThatNodeTellsIsNotSaidAgain) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.exit_code = 1;
  run.language = sandbox::Language::kJavaScript;
  run.error =
      sandbox::RunError{"SQLError", "no such table: t", "", sandbox::Cause::kException, "all", ""};
  const auto text = [&run](const std::string& written) {
    return text_of_run(view_of(run, "", {}, written));
  };
  EXPECT_EQ(text("Error [SQLError]: no such table: t\n").find("error ("), std::string::npos);
  EXPECT_NE(text("Error [Other]: no such table: t\n").find("error ("), std::string::npos);
  EXPECT_NE(text("SQLError\n[1]: no such table: t\n").find("error ("), std::string::npos);
}

TEST(RunView, TheTextTellsOfALongTimeOnly) {
  sandbox::Run run = finished_run();
  run.duration_ms = 999;
  EXPECT_EQ(text_of_run(view_of(run, ""), SessionName::kUnderstood), "completed, run_x\n");
  run.duration_ms = 1'000;
  EXPECT_EQ(text_of_run(view_of(run, ""), SessionName::kUnderstood), "completed, 1000 ms, run_x\n");
}

TEST(RunView, OfAFolderOfAToolThereIsOneEntry) {
  sandbox::Run run = finished_run();
  for (int i = 0; i < 50; ++i) {
    run.files_changed.push_back(
        {"/workspace/app/node_modules/m/" + std::to_string(i) + ".js", "created", 10});
  }
  run.files_changed.push_back({"/workspace/app/own.js", "created", 7});
  run.files_changed_total = 51;
  const json value = view_of(run, "");
  EXPECT_EQ(value["files_changed"],
            (json{{{"path", "/workspace/app/node_modules"},
                   {"change", "modified"},
                   {"bytes", 500},
                   {"files", 50}},
                  {{"path", "/workspace/app/own.js"}, {"change", "created"}, {"bytes", 7}}}));
  EXPECT_FALSE(value.contains("files_changed_total"));
  const std::string text = text_of_run(value);
  EXPECT_NE(text.find("50 files changed in /workspace/app/node_modules\n"), std::string::npos);
  EXPECT_NE(text.find("created /workspace/app/own.js (7 bytes)\n"), std::string::npos);
}

TEST(RunView, ManyFilesOfAFolderAreOneLine) {
  sandbox::Run run = finished_run();
  for (const char* name : {"a", "b", "c", "d"}) {
    run.files_changed.push_back({std::string("/workspace/out/") + name, "created", 1});
  }
  run.files_changed.push_back({"/workspace/old", "deleted", 0});
  EXPECT_NE(text_of_run(view_of(run, ""))
                .find("created in /workspace/out/ (with their bytes): a (1), b (1), c (1), d (1)\n"
                      "deleted /workspace/old\n"),
            std::string::npos);
}

TEST(RunView, ChartsInTheTextAreShortAndRounded) {
  sandbox::Run run = finished_run();
  json points = json::array();
  for (int i = 0; i < 500; ++i) points.push_back({i, 1234.56789 + i / 3.0});
  const json chart = {
      {"type", "line"}, {"title", "T"}, {"elements", {{{"label", "a"}, {"points", points}}}}};
  run.outputs = std::vector<json>(
      {{{"formats", {"png", "chart"}}, {"image_path", "/runs/run_x/1.png"}, {"chart", chart}}});
  const std::string text = text_of_run(view_of(run, ""));
  const std::size_t at = text.find("chart: ");
  ASSERT_NE(at, std::string::npos) << text;
  const std::string line = text.substr(at, text.find('\n', at) - at);
  EXPECT_LE(line.size(), 620U);
  EXPECT_NE(line.find("[0,1235]"), std::string::npos) << line;
  EXPECT_NE(line.find("\"sampled\":\"all in "), std::string::npos) << line;
}

// Above 10,000 a whole part is a number that somebody may ask for; below it four digits are enough.
TEST(RunView, NumbersOfChartsKeepTheirWholePart) {
  sandbox::Run run = finished_run();
  const std::pair<double, const char*> numbers[] = {{0.00123456, "0.001235"},
                                                    {1.23456, "1.235"},
                                                    {12.3456, "12.35"},
                                                    {999.96, "1000"},
                                                    {1234.6, "1235"},
                                                    {9999.6, "10000"},
                                                    {10000.4, "10000"},
                                                    {98765.0, "98765"},
                                                    {123456.789, "123457"},
                                                    {-98765.4, "-98765"},
                                                    {1234567890.5, "1234567891"}};
  json points = json::array();
  std::string shown;
  for (const auto& [number, text] : numbers) {
    points.push_back({0, number});
    shown += (shown.empty() ? "[0," : ",[0,") + std::string(text) + "]";
  }
  const json chart = {{"type", "line"}, {"elements", {{{"label", "a"}, {"points", points}}}}};
  run.outputs = std::vector<json>({{{"formats", {"chart"}}, {"chart", chart}}});
  const std::string text = text_of_run(view_of(run, ""));
  EXPECT_NE(text.find("[" + shown + "]"), std::string::npos) << text;
}

TEST(RunView, ATitleIsSaidOnce) {
  sandbox::Run run = finished_run();
  const json bars = json::parse(R"([{"label": "a", "group": "g", "value": 1},
                                    {"label": "b", "group": "g", "value": 2}])");
  const json axis = {{"label", "letter"}, {"scale", "categorical"}, {"ticks", {"a", "b"}}};
  json output = {{"formats", {"text", "png", "chart"}},
                 {"text", "Figure(6.4x4.8 in, 1 axes): Sales"},
                 {"image_path", "/runs/run_x/1.png"},
                 {"chart", {{"type", "bar"}, {"title", "Sales"}, {"x", axis}, {"elements", bars}}}};
  run.outputs = std::vector<json>({output});
  EXPECT_EQ(text_of_run(view_of(run, ""), SessionName::kUnderstood),
            "completed, run_x\nchart: {\"columns\":[\"label\",\"value\"],\"elements\":[[\"a\",1],"
            "[\"b\",2]],\"group\":\"g\",\"title\":\"Sales\",\"type\":\"bar\","
            "\"x\":{\"label\":\"letter\"}}\nimage: /runs/run_x/1.png\n");
  run.outputs[0]["text"] = "Figure(6.4x4.8 in, 1 axes): A year; Sales";
  EXPECT_NE(text_of_run(view_of(run, "")).find("A year"), std::string::npos);
  const std::string title(700, 't');
  run.outputs[0]["text"] = "Figure(6.4x4.8 in, 1 axes): " + title;
  run.outputs[0]["chart"]["title"] = title;
  EXPECT_NE(text_of_run(view_of(run, "")).find(title), std::string::npos)
      << "the line of the chart has no room for it";
}

TEST(RunView, WhatTheTextOfAChartLeavesOutIsCounted) {
  const auto line_of = [](int bars) {
    json elements = json::array();
    json names = json::array();
    for (int i = 0; i < bars; ++i) {
      names.push_back("country " + std::to_string(i));
      elements.push_back({{"label", names.back()}, {"value", i}});
    }
    sandbox::Run run = finished_run();
    run.outputs = std::vector<json>({{{"formats", {"png", "chart"}},
                                      {"image_path", "/runs/run_x/1.png"},
                                      {"chart",
                                       {{"type", "bar"},
                                        {"title", "T"},
                                        {"x", {{"label", ""}, {"ticks", names}}},
                                        {"elements", elements}}}}});
    const std::string text = text_of_run(view_of(run, ""));
    const std::size_t at = text.find("chart: ");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  const std::string few = line_of(12);
  EXPECT_EQ(few.find("elements_total"), std::string::npos) << "the ticks go first: " << few;
  EXPECT_NE(few.find("country 11"), std::string::npos) << few;
  EXPECT_NE(line_of(40).find("\"elements_total\":40"), std::string::npos) << line_of(40);
  EXPECT_NE(line_of(2000).find("\"elements_total\":2000"), std::string::npos) << line_of(2000);
  EXPECT_NE(line_of(40).find("\"sampled\":\"all in /runs/run_x/record.json\""), std::string::npos)
      << "a client that has the text alone: " << line_of(40);
}

TEST(RunView, ValuesOfAChartOfSeveralGoBeforeTicks) {
  json ticks = json::array();
  json bars = json::array();
  for (int i = 0; i < 4; ++i) {
    ticks.push_back("a quarter with a long name, number " + std::to_string(i));
    bars.push_back({{"label", "Q" + std::to_string(i)}, {"value", 1100 + i}});
  }
  const json part = {
      {"type", "bar"}, {"title", "T"}, {"x", {{"ticks", ticks}}}, {"elements", bars}};
  const auto line_of = [&part](std::size_t parts) {
    const json all(parts, part);
    sandbox::Run run = finished_run();
    run.outputs = std::vector<json>(
        {{{"formats", {"png", "chart"}},
          {"image_path", "/runs/run_x/1.png"},
          {"chart", {{"type", "composite"}, {"elements", {{{"charts", all}}}}}}}});
    const std::string text = text_of_run(view_of(run, ""));
    const std::size_t at = text.find("chart: ");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line_of(2).find("[\"Q3\",1103]"), std::string::npos) << line_of(2);
  EXPECT_EQ(line_of(2).find("a quarter"), std::string::npos) << line_of(2);
  EXPECT_NE(line_of(9).find("\"values\":\"in /runs/run_x/record.json\""), std::string::npos)
      << line_of(9);
}

TEST(RunView, BoxesOfAChartAreToldAsFarAsThereIsRoom) {
  const auto line_of = [](int boxes) {
    json elements = json::array();
    for (int i = 0; i < boxes; ++i) {
      elements.push_back({{"label", "group " + std::to_string(i)},
                          {"min", 5.41},
                          {"first_quartile", 501.76},
                          {"median", 1020.3000000000001},
                          {"third_quartile", 1883.07},
                          {"max", 3689.6},
                          {"outliers", std::vector<double>(40, 4232.84)}});
    }
    sandbox::Run run = finished_run();
    run.outputs = std::vector<json>({{{"formats", {"png", "chart"}},
                                      {"image_path", "/runs/run_x/1.png"},
                                      {"chart", {{"type", "box"}, {"elements", elements}}}}});
    const std::string text = text_of_run(view_of(run, ""));
    const std::size_t at = text.find("chart: ");
    return at == std::string::npos ? text : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line_of(4).find("[\"label\",\"min\",\"first_quartile\",\"median\",\"third_quartile\","
                            "\"max\",\"outliers\"]"),
            std::string::npos)
      << line_of(4);
  EXPECT_NE(line_of(4).find("[\"group 3\",5.41,501.8,1020,1883,3690,40]"), std::string::npos)
      << line_of(4);
  EXPECT_NE(line_of(20).find("\"elements_total\":20"), std::string::npos) << line_of(20);
  EXPECT_LT(line_of(200).size(), 620U) << line_of(200);
}

TEST(RunView, AFileThatIsNotNeededIsNotNamed) {
  sandbox::Run run = finished_run();
  run.outputs = std::vector<json>({long_output("html", 5)});
  run.outputs[0]["html"] = "<br/>";
  EXPECT_FALSE(view_of(run, "")["outputs"][0].contains("truncated"));
}

TEST(RunView, OfEachFormAtMostSoMuch) {
  sandbox::Run run = finished_run();
  run.outputs = std::vector<json>({{{"is_main_result", true},
                                    {"formats", {"text", "html", "json"}},
                                    {"text", bytes(90'000, 't')},
                                    {"html", bytes(90'000, 'h')},
                                    {"json", bytes(90'000, 'j')}}});
  const json output = view_of(run, "")["outputs"][0];
  EXPECT_LE(output["text"].get<std::string>().size(), 4'000U);
  EXPECT_FALSE(output.contains("html") || output.contains("json"));
  EXPECT_EQ(output["truncated"]["json"]["total_bytes"], 90'000);
  EXPECT_EQ(output["truncated"]["text"]["file"], "/runs/run_x/record.json");
}

TEST(RunView, APageIsNamedAndNotRead) {
  sandbox::Run run = finished_run();
  const std::string page = "<p>" + std::string(5'000, 'x') + "</p>";
  run.outputs.push_back(
      {{"formats", {"text", "html"}},
       {"text", "<a.Map object at 0x7f>"},
       {"html", page},
       {"files", {{"html", {{"file", "/runs/run_x/1.html"}, {"total_bytes", 5'007}}}}}});
  const json value = view_of(run, "");
  EXPECT_EQ(value["outputs"][0]["html_path"], "/runs/run_x/1.html");
  EXPECT_EQ(value["outputs"][0]["html"], page);
  const std::string text = text_of_run(value);
  EXPECT_NE(text.find("html of output 1: /runs/run_x/1.html\n"), std::string::npos);
  EXPECT_EQ(text.find("xxx"), std::string::npos);
}

TEST(RunView, AWholeResultIsBounded) {
  for (const char fill : {'x', '\x01', '"', '\n'}) {
    SCOPED_TRACE(static_cast<int>(fill));
    sandbox::Run run = finished_run();
    run.status = sandbox::RunStatus::kFailed;
    run.error =
        sandbox::RunError{bytes(9'000, fill),         bytes(90'000, fill), bytes(90'000, fill),
                          sandbox::Cause::kException, bytes(9'000, fill),  bytes(9'000, fill)};
    run.note = bytes(90'000, fill);
    for (int i = 0; i < 100; ++i) {
      run.outputs.push_back({{"is_main_result", i == 99},
                             {"formats", {"text", "html", "png"}},
                             {"text", std::to_string(i) + bytes(15'000, fill)},
                             {"html", bytes(15'000, fill)},
                             {"image_path", "/runs/run_x/" + std::to_string(i + 1) + ".png"}});
      run.files_changed.push_back({"/workspace/" + bytes(4'000, fill), "created", 1});
    }
    const json value = view_of(run, bytes(90'000, fill));
    expect_bounded(value);
    EXPECT_LE(value["error"]["traceback"].get<std::string>().size(), kTracebackCharacters);
    const auto main =
        std::find_if(value["outputs"].begin(), value["outputs"].end(), [](const json& output) {
          return output.value("is_main_result", false) && output.contains("text");
        });
    EXPECT_NE(main, value["outputs"].end()) << "the main result goes before the others";
    EXPECT_EQ(value["files_changed_total"], 100);
  }
}

TEST(RunView, TwoHundredFilesAreListedAndAllCounted) {
  sandbox::Run run = finished_run();
  for (int i = 0; i < 200; ++i) {
    run.files_changed.push_back(
        {"/workspace/some/folder/file_" + std::to_string(i) + ".txt", "created", 12'345});
  }
  run.files_changed_total = 4'321;
  const json value = view_of(run, "");
  EXPECT_EQ(value["files_changed"].size(), 200U);
  EXPECT_EQ(value["files_changed_total"], 4'321);
  const std::string text = text_of_run(value);
  EXPECT_NE(text.find("file_19.txt (12345) and more\n4321 files changed in all"), std::string::npos)
      << text;
  run.files_changed_total = 200;
  EXPECT_FALSE(view_of(run, "").contains("files_changed_total"));
}

TEST(RunView, ChartsShrinkIntoTheRoomThereIs) {
  sandbox::Run run = finished_run();
  json points = json::array();
  for (int i = 0; i < 1000; ++i) points.push_back({0.123456789012345 + i, 0.987654321098765 + i});
  json output = long_output("chart", 60'000);
  output["chart"] = {
      {"type", "line"}, {"title", "T"}, {"elements", {{{"label", "a"}, {"points", points}}}}};
  for (int i = 0; i < 4; ++i) run.outputs.push_back(output);
  const json value = view_of(run, bytes(90'000, 'x'), 0);
  expect_bounded(value);
  EXPECT_EQ(value["outputs"][0]["chart"]["sampled"], true);
  EXPECT_EQ(value["outputs"][0]["truncated"]["chart"]["file"], "/runs/run_x/1.chart");
  EXPECT_EQ(value["outputs"].size(), 4U);
}

TEST(RunView, LongOutputThatPrintsLongerIsShownInPart) {
  sandbox::Run run = finished_run();
  const json value = view_of(run, bytes(30'000, '\x01'), 0);
  expect_bounded(value);
  const auto shown = static_cast<std::int64_t>(value["stdout"].get<std::string>().size());
  EXPECT_EQ(value["stdout_next_offset"], shown) << "one piece, and where the next begins";
  EXPECT_EQ(value["truncated"]["stdout"]["total_bytes"], 30'000);
}

TEST(RunView, StreamsTogetherStayInTheirBound) {
  sandbox::Run run = finished_run();
  for (const std::size_t size : {29'999U, 30'000U, 30'001U, 200'000U}) {
    const json value = view_of(run, bytes(size, 'x'));
    EXPECT_LE(value["stdout"].get<std::string>().size(), kInlineOutputCharacters);
    EXPECT_EQ(value.contains("truncated"), size > kInlineOutputCharacters);
  }
}

TEST(RunView, StreamsShareTheirRoomByWhatIsSeenOfThem) {
  sandbox::Run run = finished_run();
  std::string lines;
  while (lines.size() < 8'000) lines += "row " + std::to_string(lines.size()) + "\n";
  for (const std::size_t size : {60'000U, 600'000U}) {
    std::string bar;
    while (bar.size() < size) bar += "\r" + std::to_string(bar.size()) + " done";
    EXPECT_EQ(view_of(run, lines, {}, bar)["stdout"], lines) << size;
    EXPECT_EQ(view_of(run, bar, {}, lines)["stderr"], lines) << size;
  }
  std::string long_lines = lines;
  while (long_lines.size() < 70'000) long_lines += "row " + std::to_string(lines.size()) + "0\n";
  const json both = view_of(run, long_lines, {}, lines);
  const std::size_t out = both["stdout"].get<std::string>().size();
  const std::size_t err = both["stderr"].get<std::string>().size();
  EXPECT_LE(out + err, kInlineOutputCharacters);
  EXPECT_GT(std::min(out, err), kInlineOutputCharacters / 2 - 100) << "each a half";
  EXPECT_EQ(view_of(run, long_lines, {}, "one line\n")["stderr"], "one line\n");
}

TEST(RunView, CharactersOfSeveralBytesAreOneEach) {
  const auto characters = [](const json& text) {
    return json_characters(text) - std::string_view("\"\"").size();
  };
  sandbox::Run run = finished_run();
  std::string text;
  for (int i = 0; i < 9'000; ++i) text += "\u4f60";
  const json value = view_of(run, text);
  EXPECT_EQ(value["stdout"], text);
  EXPECT_FALSE(value.contains("truncated"));
  for (const int times : {5, 50}) {
    std::string much;
    for (int i = 0; i < times; ++i) much += text;
    const json shown = view_of(run, much)["stdout"];
    EXPECT_LE(characters(shown), kInlineOutputCharacters + 2) << "two ends of lines";
    EXPECT_GT(characters(shown), kInlineOutputCharacters - 50);
    EXPECT_EQ(shown.get<std::string>().find("\ufffd"), std::string::npos) << "none is cut";
  }
}

TEST(RunView, TextSaysTheSame) {
  sandbox::Run run = finished_run();
  run.status = sandbox::RunStatus::kFailed;
  run.exit_code = 1;
  run.error = sandbox::RunError{"ValueError",     "bad",    "", sandbox::Cause::kException,
                                "variables kept", "nothing"};
  run.files_changed = {{"/workspace/f", "created", 3}};
  run.note = "a note";
  const std::string text = text_of_run(view_of(run, "printed\n"));
  for (const char* part :
       {"failed", "exit code 1", "ValueError: bad", "exception", "variables kept", "printed",
        "created /workspace/f", "a note", "session_x", "run_x"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

}  // namespace
