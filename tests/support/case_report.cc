// The main() of the C++ tests: with `--in=FILE_test.cc` it runs the cases of that file alone, and
// tells the gate of each as it ends, as case_report.py does for a pytest suite.
//
// With HUTCH_TEST_REPORT=FILE it writes lines of JSON: {"collected"}, how many cases it will run;
// for each {"started"} and {"name", "outcome", "seconds", "text"}. With HUTCH_TEST_ONLY=NAME only
// that case is run. A name is `unit/mcp/golden_test.cc::Suite.Case`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace {

std::string file_of(const testing::TestInfo& test) {
  const std::string file = test.file();
  const auto tests = file.rfind("tests/");
  return tests == std::string::npos ? file : file.substr(tests + std::string_view("tests/").size());
}

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

std::string name_of(const testing::TestInfo& test) {
  return file_of(test) + "::" + full_name(test);
}

class CaseReport : public testing::EmptyTestEventListener {
 public:
  explicit CaseReport(const std::filesystem::path& file) {
    std::filesystem::create_directories(file.parent_path());
    lines_.open(file, std::ios::app);
  }

  void OnTestIterationStart(const testing::UnitTest& all, int /*iteration*/) override {
    tell({{"collected", all.test_to_run_count()}});
  }
  void OnTestStart(const testing::TestInfo& test) override { tell({{"started", name_of(test)}}); }

  void OnTestEnd(const testing::TestInfo& test) override {
    const auto& result = *test.result();
    std::string text;
    for (int i = 0; i < result.total_part_count(); ++i) {
      const auto& part = result.GetTestPartResult(i);
      if (part.failed()) {
        text += file_of(test) + ":" + std::to_string(part.line_number()) + "\n";
      }
      text += std::string(part.message()) + "\n";
    }
    tell({{"name", name_of(test)},
          {"outcome", result.Failed()    ? "failed"
                      : result.Skipped() ? "skipped"
                                         : "passed"},
          {"seconds", static_cast<double>(result.elapsed_time()) / 1000},
          {"text", text}});
  }

 private:
  void tell(const nlohmann::json& line) {
    lines_ << line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << std::endl;
  }

  std::ofstream lines_;
};

// GoogleTest's filter for the cases of one file, or for the one case that is wanted; empty: none
// is.
std::string filter_of(std::string_view file, std::string_view only) {
  std::string filter;
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const auto& test = *suite.GetTestInfo(k);
      if (only.empty() ? file_of(test) == file : name_of(test) == only) {
        filter += (filter.empty() ? "" : ":") + full_name(test);
      }
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string_view in =
      argc > 1 && std::string_view(argv[1]).starts_with("--in=") ? argv[1] + 5 : "";
  const char* only = std::getenv("HUTCH_TEST_ONLY");
  if (!in.empty() || only != nullptr) {
    const auto filter = filter_of(in, only == nullptr ? "" : only);
    if (filter.empty()) {
      std::cerr << "no case is " << (only == nullptr ? in : only) << '\n';
      return 2;
    }
    testing::GTEST_FLAG(filter) = filter;
  }
  if (const char* report = std::getenv("HUTCH_TEST_REPORT"); report != nullptr) {
    testing::UnitTest::GetInstance()->listeners().Append(new CaseReport(report));
  }
  return RUN_ALL_TESTS();
}
