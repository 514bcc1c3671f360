// The shape of the tree: which folder may include which, who may include which library, what may
// not stand in the sources.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_directory.h"

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = source_directory();

// Folder at the top to those it may include. The composition root mcp/main.cc may include
// everything.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"base"}},
    {"mcp", {"mcp", "base"}},
    {"sandbox", {"sandbox", "base"}},
    {"sessions", {"sessions", "sandbox", "base"}},
    {"share", {"share", "sessions", "base"}},
    {"tools", {"tools", "mcp", "sandbox", "base", "sessions", "share"}},
};

// Folder of tools to those of them that it may include, beside what lies in tools itself: the faces
// know nothing of each other, and the commands put them together.
const std::map<std::string, std::set<std::string>> kMayIncludeInTools = {
    {"", {}},
    {"ports", {"ports"}},
    {"setup", {"setup"}},
    {"mcp", {"mcp", "ports"}},
    {"api", {"api", "ports"}},
    {"cli", {"cli", "api", "mcp", "ports", "setup"}},
};

// Library header to the only files that may include it.
const std::map<std::string, std::set<std::string>> kOnlyIn = {
    {"sqlite3.h", {"sessions/sqlite.cc"}},
    {"seccomp.h", {"sandbox/policy/compile_policy.cc"}},
    {"magic.h", {"share/mime.cc"}},
    {"httplib.h", {"mcp/http/library.cc"}},
    {"curl/curl.h", {"mcp/auth/https_fetch.cc", "tools/cli/network_proxy.cc"}},
    {"toml++/toml.h", {"tools/cli/config_file.cc", "tools/setup/toml_text.cc"}},
    {"yaml-cpp/yaml.h", {"tools/setup/yaml_text.cc"}},
};

std::vector<fs::path> source_files() {
  std::vector<fs::path> files;
  for (const char* folder : {"base", "mcp", "sandbox", "tools", "share", "sessions", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const auto extension = entry.path().extension();
      if (entry.is_regular_file() &&
          (extension == ".h" || extension == ".cc" || extension == ".py" || extension == ".mjs")) {
        files.push_back(fs::relative(entry.path(), kRoot));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream stream(kRoot / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string row_of(const std::string& path) { return path.substr(0, path.find('/')); }

// Returns the file of the tree that the line includes; empty: none.
std::string included_by(const std::string& line) {
  static const std::regex kInclude("^#include \"([^\"]+)\"");
  std::smatch match;
  return std::regex_search(line, match, kInclude) ? match[1].str() : "";
}

// Returns the folder of tools in which a file is; empty where it lies in tools itself.
std::string folder_in_tools(const std::string& path) {
  const std::size_t begin = path.find('/') + 1;
  const std::size_t end = path.find('/', begin);
  return end == path.npos ? "" : path.substr(begin, end - begin);
}

bool may_include_in_tools(const std::string& file, const std::string& included) {
  if (row_of(file) != "tools" || row_of(included) != "tools") return true;
  const std::string folder = folder_in_tools(included);
  const auto row = kMayIncludeInTools.find(folder_in_tools(file));
  return row != kMayIncludeInTools.end() && (folder.empty() || row->second.contains(folder));
}

std::vector<std::string> wrong_includes(const std::string& file,
                                        const std::vector<std::string>& lines) {
  std::vector<std::string> wrong;
  const auto row = kMayInclude.find(row_of(file));
  if (row == kMayInclude.end() || file == "mcp/main.cc") return wrong;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string included = included_by(lines[i]);
    const bool may_be =
        row->second.contains(row_of(included)) && may_include_in_tools(file, included);
    if (!included.empty() && !may_be) {
      wrong.push_back(file + ":" + std::to_string(i + 1) + " includes \"" + included + "\"");
    }
  }
  return wrong;
}

// File to those that it includes itself.
using Includes = std::map<std::string, std::vector<std::string>>;

// Returns how many .cc files each file reaches, directly or through others.
std::map<std::string, int> reach_of(const Includes& includes) {
  std::map<std::string, int> reach;
  for (const auto& [file, direct] : includes) {
    if (!file.ends_with(".cc")) continue;
    std::set<std::string> reached;
    std::vector<std::string> next = direct;
    while (!next.empty()) {
      const std::string included = next.back();
      next.pop_back();
      const auto further = includes.find(included);
      if (further == includes.end() || !reached.insert(included).second) continue;
      next.insert(next.end(), further->second.begin(), further->second.end());
      ++reach[included];
    }
  }
  return reach;
}

TEST(Tidy, TheTreeHasSources) { EXPECT_GT(source_files().size(), 50U); }

TEST(Tidy, IncludesFollowTheArrows) {
  for (const fs::path& file : source_files()) {
    for (const std::string& line : wrong_includes(file.string(), lines_of(file))) {
      ADD_FAILURE() << line;
    }
  }
}

TEST(Tidy, AWrongIncludeIsFound) {
  EXPECT_EQ(wrong_includes("mcp/server.cc", {"", "#include \"sandbox/sandbox.h\""}),
            std::vector<std::string>{"mcp/server.cc:2 includes \"sandbox/sandbox.h\""});
  EXPECT_EQ(wrong_includes("base/fd.cc", {"#include \"sandbox/run.h\""}).size(), 1U);
  EXPECT_EQ(wrong_includes("mcp/main.cc", {"#include \"tools/tools.h\""}).size(), 0U);
  EXPECT_EQ(wrong_includes("tools/api/e2b/a.cc", {"#include \"tools/mcp/tool_kit.h\""}).size(), 1U);
  EXPECT_EQ(wrong_includes("tools/a.h", {"#include \"tools/api/api.h\""}).size(), 1U);
  EXPECT_EQ(wrong_includes("tools/new/a.cc", {"#include \"tools/tools.h\""}).size(), 1U);
  EXPECT_EQ(wrong_includes("tools/cli/a.cc", {"#include \"tools/api/e2b/e2b.h\""}).size(), 0U);
}

// Returns the classes whose functions a file defines outside of them, each with its namespace.
std::set<std::string> classes_in(const std::vector<std::string>& lines) {
  static const std::regex kNamespace("^namespace ([a-z0-9_:]+) \\{");
  static const std::regex kFunction(
      "^(?! )([^#/=(]*[ *&])?(([A-Z][A-Za-z0-9]*)::)+[~A-Za-z0-9_]+\\(");
  static const std::regex kClass("([A-Z][A-Za-z0-9]*)::[~A-Za-z0-9_:]+\\($");
  std::set<std::string> classes;
  std::string place;
  for (const std::string& line : lines) {
    std::smatch match;
    if (std::regex_search(line, match, kNamespace)) place = match[1].str();
    if (!std::regex_search(line, match, kFunction)) continue;
    const std::string begins = match.str();
    // A class within a class lies where that does.
    if (std::regex_search(begins, match, kClass)) classes.insert(place + "::" + match[1].str());
  }
  return classes;
}

TEST(Tidy, AClassIsInOneFile) {
  std::map<std::string, std::string> file_of;
  for (const fs::path& file : source_files()) {
    if (file.extension() != ".cc" || file.string().starts_with("tests/")) continue;
    for (const std::string& name : classes_in(lines_of(file))) {
      const auto [known, is_new] = file_of.emplace(name, file.string());
      EXPECT_TRUE(is_new) << name << " is in " << known->second << " and in " << file;
    }
  }
  EXPECT_GT(file_of.size(), 100U);
}

// "RunLedger" is in run_ledger.cc.
std::string file_name_of(const std::string& name) {
  std::string words;
  for (const char letter : name) {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0 && !words.empty()) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

TEST(Tidy, AFileHasTheNameOfAClassOfItsHeader) {
  // Their functions are what they are for, or one library's header may be included there alone.
  const std::set<std::string> kOthers = {"base/digest.cc",          "base/fd.cc",
                                         "base/result.cc",          "mcp/http/body_framing.cc",
                                         "mcp/http/metrics.cc",     "mcp/http/route.cc",
                                         "sandbox/box/usage.cc",    "sandbox/cgroup_directory.cc",
                                         "sandbox/wire/frame.cc",   "sandbox/wire/plan_format.cc",
                                         "sessions/sqlite.cc",      "tools/api/api.cc",
                                         "tools/cli/follow_run.cc", "tools/cli/terminal.cc"};
  std::set<std::string> seen;
  for (const fs::path& file : source_files()) {
    if (file.extension() != ".cc" || file.string().starts_with("tests/")) continue;
    const fs::path header = fs::path(file).replace_extension(".h");
    if (!fs::exists(kRoot / header)) continue;
    std::set<std::string> names;
    for (const std::string& line : lines_of(header)) {
      static const std::regex kClass("^(class|struct) ([A-Z][A-Za-z0-9]*)( final)? *[:{]");
      std::smatch match;
      if (std::regex_search(line, match, kClass)) names.insert(match[2].str());
    }
    std::set<std::string> own;
    for (const std::string& name : classes_in(lines_of(file))) {
      const std::string last = name.substr(name.rfind(':') + 1);
      if (names.contains(last)) own.insert(file_name_of(last));
    }
    if (own.empty() || own.contains(file.stem().string())) continue;
    seen.insert(file.string());
    EXPECT_TRUE(kOthers.contains(file.string()))
        << file << " has the name of none of its classes: rename it, or the class";
  }
  EXPECT_EQ(seen, kOthers) << "the list may only shrink";
}

TEST(Tidy, TheClassesOfAFileAreFound) {
  const std::vector<std::string> lines = {"namespace a::b {",
                                          "C::C(int d) : d_(d) {}",
                                          "D::~D() = default;",
                                          "std::map<int, E::F> E::find(const G::H& by) const {",
                                          "const auto here = I::make();",
                                          "J::K J::L::next(",
                                          "  return M::of();",
                                          "bool free_one(N::O o) {"};
  EXPECT_EQ(classes_in(lines), (std::set<std::string>{"a::b::C", "a::b::D", "a::b::E", "a::b::J"}));
}

// Whoever changes a service compiles few files again, since others include what they use of it.
TEST(Tidy, NoServiceOfSessionsReachesManyFiles) {
  constexpr int kReachMax = 30;
  // Types, of which interfaces in all folders are made, and services.h, which only declares
  // services.
  const std::set<std::string> kTypes = {"sessions/file_record.h",    "sessions/filesystem_choice.h",
                                        "sessions/grants.h",         "sessions/host_uids.h",
                                        "sessions/manager_config.h", "sessions/moment.h",
                                        "sessions/notice.h",         "sessions/network_choice.h",
                                        "sessions/quotas.h",         "sessions/run_state.h",
                                        "sessions/services.h",       "sessions/session.h",
                                        "sessions/session_state.h",  "sessions/share.h"};
  Includes includes;
  for (const fs::path& file : source_files()) {
    if (file.string().starts_with("tests/")) continue;
    auto& direct = includes[file.string()];
    for (const std::string& line : lines_of(file)) direct.push_back(included_by(line));
  }
  for (const auto& [file, count] : reach_of(includes)) {
    if (!file.starts_with("sessions/") || kTypes.contains(file)) continue;
    EXPECT_LE(count, kReachMax) << file;
  }
}

TEST(Tidy, TheReachOfAHeaderIsCounted) {
  const auto reach = reach_of({{"a.cc", {"a.h", "b.h"}},
                               {"b.cc", {"b.h"}},
                               {"a.h", {"b.h", "string.h"}},
                               {"b.h", {"a.h"}}});
  EXPECT_EQ(reach, (std::map<std::string, int>{{"a.h", 2}, {"b.h", 2}}));
}

TEST(Tidy, LibrariesStayBehindOneFile) {
  for (const fs::path& file : source_files()) {
    if (file.string().starts_with("tests/")) continue;
    for (const std::string& line : lines_of(file)) {
      EXPECT_TRUE(
          !line.starts_with("#include <boost/") || file.string().starts_with("sandbox/egress/") ||
          file.string() == "tools/ports/head.cc" || line.starts_with("#include <boost/crc.hpp>"))
          << file << ": Boost is for hutch-egress, and for heads on their way to ports";
      for (const auto& [header, allowed] : kOnlyIn) {
        if (line.starts_with("#include <" + header + ">")) {
          EXPECT_TRUE(allowed.contains(file.string())) << file << " includes <" << header << ">";
        }
      }
    }
  }
}

TEST(Tidy, HeadersForwardDeclareWhatIsDearToCompile) {
  for (const fs::path& file : source_files()) {
    if (file.extension() != ".h" || file.string().starts_with("tests/")) continue;
    for (const std::string& line : lines_of(file)) {
      EXPECT_FALSE(line.starts_with("#include <spdlog/")) << file;
      EXPECT_FALSE(line.starts_with("#include <nlohmann/json.hpp>"))
          << file << ": json_fwd.hpp, and base/json_value.h for a member: whoever includes all of "
          << "json.hpp compiles two to three times as long";
    }
  }
}

TEST(Tidy, HeadersAreGuardedAndExplained) {
  for (const fs::path& file : source_files()) {
    if (file.extension() != ".h") continue;
    const auto lines = lines_of(file);
    ASSERT_FALSE(lines.empty()) << file;
    EXPECT_TRUE(lines[0].starts_with("//")) << file << " does not say what it is";
    EXPECT_NE(std::find(lines.begin(), lines.end(), "#pragma once"), lines.end()) << file;
  }
}

TEST(Tidy, TheServerNeverForks) {
  static const std::regex kFork("\\b(v?fork\\(|clone3?\\((?!\\))|system\\(|popen\\()");
  for (const fs::path& file : source_files()) {
    const std::string path = file.string();
    if (path.starts_with("tests/") || path.starts_with("sandbox/init/") ||
        path.starts_with("sandbox/runners/")) {
      continue;
    }
    for (const std::string& line : lines_of(file)) {
      if (line.find("//") != std::string::npos) continue;
      EXPECT_FALSE(std::regex_search(line, kFork)) << path << ": " << line;
    }
  }
}

// Whether what stands before `place` is an element of a braced list.
bool is_in_list(const std::string& text, std::size_t place) {
  const std::size_t brace = text.find_last_of(";{}", place);
  if (brace == std::string::npos || brace == 0 || text[brace] != '{') return false;
  const char before = text[brace - 1];
  const std::size_t word = text.find_last_not_of(" \n", brace - 1);
  return (before != ' ' && before != '\n') || (word != std::string::npos && text[word] == ',');
}

// base/result.h: what the list has made by then would never be ended.
TEST(Tidy, NoTryLeavesAList) {
  EXPECT_TRUE(is_in_list("f() { return json{{\"a\", b}, {\"c\", TRY(d())}}; }", 39));
  EXPECT_FALSE(is_in_list("if (a) { TRY(b()); }", 9));
  for (const fs::path& file : source_files()) {
    if (file.extension() != ".cc" || file.string().starts_with("tests/")) continue;
    std::string text;
    for (const std::string& line : lines_of(file)) text += line.substr(0, line.find("//")) + '\n';
    for (std::size_t at = text.find("TRY("); at != std::string::npos;
         at = text.find("TRY(", at + 1)) {
      EXPECT_FALSE(is_in_list(text, at)) << file << ": " << text.substr(at, 60);
    }
  }
}

// The most trusted program is the least: nothing in it can fail for want of memory.
TEST(Tidy, InitUsesLibcAloneAndAllocatesNothing) {
  static const std::regex kAllowed(
      "#include (<c[a-z]+>|<initializer_list>|<[a-z0-9/_]+\\.h>|\".*)");
  static const std::regex kAllocates(
      "\\b(malloc|calloc|realloc|strdup|asprintf|fopen|fdopen|opendir|fdopendir|getline|std::"
      "string|"
      "std::vector)\\b|[=(] ?new [a-zA-Z]");
  for (const fs::path& file : source_files()) {
    if (!file.string().starts_with("sandbox/init/")) continue;
    for (const std::string& line : lines_of(file)) {
      if (line.starts_with("#include ")) {
        EXPECT_TRUE(std::regex_search(line, kAllowed)) << file << ": " << line;
      } else if (line.find("//") == std::string::npos) {
        EXPECT_FALSE(std::regex_search(line, kAllocates)) << file << ": " << line;
      }
    }
  }
}

TEST(Tidy, OnlyTheTransportAndTheCommandsWriteToStandardOutput) {
  for (const fs::path& file : source_files()) {
    const std::string path = file.string();
    const bool may = path.starts_with("tests/") || path.starts_with("tools/cli/") ||
                     path.starts_with("sandbox/policy/") || path.starts_with("sandbox/init/") ||
                     path.starts_with("sandbox/runners/") || path == "mcp/stdio_transport.cc";
    if (may) continue;
    for (const std::string& line : lines_of(file)) {
      EXPECT_EQ(line.find("std::cout"), std::string::npos) << path << ": " << line;
      EXPECT_EQ(line.find("std::printf("), std::string::npos) << path << ": " << line;
    }
  }
}

}  // namespace
