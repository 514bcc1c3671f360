// Folders of the host: the plan covers what is obeyed in them, and nothing else.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <string>

#include "sandbox/box/host_folders.h"
#include "sandbox/box/new_obeyed_files.h"
#include "sandbox/box/obeyed_files.h"
#include "sandbox/wire/plan_format.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox;
using namespace sandbox::box;
namespace fs = std::filesystem;
using Names = std::set<std::string>;

class ObeyedFilesTest : public ::testing::Test {
 protected:
  void make(const std::string& name) {
    fs::create_directories(fs::path(directory_.path() + "/" + name).parent_path());
    directory_.write(name, "");
  }

  BoxSpec spec() {
    struct stat status {};
    EXPECT_EQ(::fstat(directory_.fd(), &status), 0);
    BoxSpec spec;
    spec.host_folders.push_back(
        {"project", directory_.path(), true, {}, status.st_dev, status.st_ino});
    return spec;
  }

  Names covered() {
    PlanWriter plan;
    EXPECT_TRUE(add_host_folders(plan, spec()).ok());
    const std::string bytes = plan.take();
    wire::PlanReader reader(bytes.data(), bytes.size());
    Names names;
    for (wire::PlanRecord record; reader.next(record);) {
      if (record.op == wire::PlanOp::kProtect) names.insert(record.fields[1]);
    }
    return names;
  }

  std::string narrowed() {
    BoxSpec box = spec();
    EXPECT_TRUE(narrow_host_folders(box).ok());
    return box.host_folders[0].writable ? "" : box.note;
  }

  TemporaryDirectory directory_;
};

TEST_F(ObeyedFilesTest, AreCoveredAndTheWorkIsNot) {
  for (const char* name :
       {".git/config", ".husky/pre-commit", "CLAUDE.md", ".github/hooks/h.json", ".npmrc",
        ".github/copilot-instructions.md", ".github/workflows/ci.yml", "package.json",
        "sub/.gemini/settings.json", "sub/AGENTS.md", "sub/package.json", "sub/deep/.qwen/x",
        "sub/deep/.github/mcp.json", "sub/deep/deeper/.git/config", "src/.mcp.json"}) {
    make(name);
  }
  EXPECT_EQ(covered(), (Names{".git", ".husky", "CLAUDE.md", ".github/hooks",
                              ".github/copilot-instructions.md", "sub/.gemini", "sub/AGENTS.md",
                              "sub/deep/.qwen", "sub/deep/.github/mcp.json", "src/.mcp.json"}));
  EXPECT_EQ(narrowed(), "");
}

TEST_F(ObeyedFilesTest, AreCoveredInDirectoriesOfManyFilesToo) {
  for (int i = 0; i < 1000; ++i) make("many/" + std::to_string(i));
  make("many/.claude/settings.json");
  make("many/.github/prompts/p");
  EXPECT_EQ(covered(), (Names{"many/.claude", "many/.github/prompts"}));
}

TEST_F(ObeyedFilesTest, AllOfThemAreCoveredAtTheTop) {
  Names all;
  for (const ObeyedFile& file : kObeyedFiles) all.insert(std::string(file.name));
  for (const ObeyedFile& file : kObeyedInShared) all.insert(".github/" + std::string(file.name));
  for (const std::string& name : all) make(name);
  for (int i = 0; i < 100; ++i) make("sub" + std::to_string(i) + "/.git/config");
  Names covered_at_top = covered();
  std::erase_if(covered_at_top, [](const std::string& name) { return name.starts_with("sub"); });
  EXPECT_EQ(covered_at_top, all);
}

TEST_F(ObeyedFilesTest, LinksNarrowTheFolderUnlessTheyAreTexts) {
  make("AGENTS.md");
  fs::create_symlink("AGENTS.md", directory_.path() + "/CLAUDE.md");
  EXPECT_EQ(narrowed(), "");
  EXPECT_EQ(covered(), Names{"AGENTS.md"});
  fs::create_directory_symlink("elsewhere", directory_.path() + "/.github");
  EXPECT_NE(narrowed().find(".github in it is a link"), std::string::npos);
}

TEST_F(ObeyedFilesTest, WhatIsMadeOfThemIsTold) {
  // The directory stands for the root of a box.
  const auto find = [this] {
    return find_obeyed_names(directory_.fd(), folders_to_look_into(directory_.fd(), spec()));
  };
  make("mnt/project/AGENTS.md");
  fs::create_symlink("AGENTS.md", directory_.path() + "/mnt/project/CLAUDE.md");
  const ObeyedNames before = find();
  make("mnt/project/package.json");
  make("mnt/project/.github/workflows/ci.yml");
  EXPECT_EQ(note_of_new_names(before, find()), "") << "the work";
  make("mnt/project/.mcp.json");
  EXPECT_EQ(note_of_new_names(before, find()),
            "made /mnt/project/.mcp.json, which programs of this machine obey: look at it before "
            "you use it");
  fs::remove(directory_.path() + "/mnt/project/CLAUDE.md");
  make("mnt/project/CLAUDE.md");
  for (const char* name : {".claude/settings.json", ".husky/pre-commit", ".github/hooks/h.json",
                           ".envrc", ".vscode/tasks.json"}) {
    make(std::string("mnt/project/") + name);
  }
  const std::string many = note_of_new_names(before, find());
  EXPECT_TRUE(many.starts_with("made /mnt/project/.claude, ")) << many;
  EXPECT_NE(many.find(" and 2 more, which programs of this machine obey: look at them"),
            std::string::npos)
      << many;
  EXPECT_EQ(note_of_new_names(find(), find()), "");
}

}  // namespace
