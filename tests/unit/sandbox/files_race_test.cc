// Someone exchanges directories with links out of the box while we work: never a byte of outside.
#include <fcntl.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;

constexpr std::chrono::milliseconds kRaceTime{1500};

class FilesRace : public FilesTest {
 protected:
  void SetUp() override {
    put("/workspace/d/e/canary", "inside");
    // There are such names out there, too, so that a walk that was led astray would find them.
    fs::create_directories(outside("e"));
    put_at(outside("e/canary"), kCanary);
    link("../../outside", "/workspace/relative");
    link(top_ + "/outside", "/workspace/absolute");
  }

  // Calls `body` while /workspace/d is exchanged with both links in turn. How often it was called.
  template <typename Body>
  int race(Body body) {
    std::atomic<bool> stop{false};
    std::atomic<int> exchanges{0};
    std::thread adversary([&] {
      const base::UniqueFd workspace(
          ::open(host("/workspace").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      while (!stop) {
        for (const char* other : {"relative", "absolute", "absolute", "relative"}) {
          (void)::renameat2(workspace.get(), "d", workspace.get(), other, RENAME_EXCHANGE);
          ++exchanges;
        }
      }
    });
    int rounds = 0;
    const auto end = std::chrono::steady_clock::now() + kRaceTime;
    while (std::chrono::steady_clock::now() < end || exchanges < 100) {
      body();
      ++rounds;
    }
    stop = true;
    adversary.join();
    return rounds;
  }

  void expect_outside_untouched() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(top_ + "/outside")) {
      found.push_back(entry.path().string().substr(top_.size()));
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found,
              (std::vector<std::string>{"/outside/canary", "/outside/e", "/outside/e/canary"}));
    for (const char* name : {"canary", "e/canary"}) {
      std::ifstream stream(outside(name));
      std::ostringstream content;
      content << stream.rdbuf();
      EXPECT_EQ(content.str(), kCanary);
    }
  }
};

TEST_F(FilesRace, Reading) {
  int inside = 0;
  const int rounds = race([&] {
    for (const char* path : {"d/e/canary", "relative/e/canary", "d/../d/e/canary"}) {
      const std::string content = read(path);
      ASSERT_EQ(content.find("CANARY"), std::string::npos) << path;
      if (content == "inside") ++inside;
    }
    const auto shared = files().open("d/e/canary");
    if (shared.ok()) {
      ASSERT_EQ(base::read_all(shared.value().get(), 100).value(), "inside");
    }
  });
  EXPECT_GT(inside, 0) << "of " << rounds;
}

TEST_F(FilesRace, Writing) {
  int written = 0;
  race([&] {
    for (const char* path : {"d/e/canary", "d/e/new", "absolute/e/f/g/new", "d/canary"}) {
      if (files().write(path, "written", WriteMode::kOverwrite).ok()) ++written;
      (void)files().write(path, "appended", WriteMode::kAppend);
      (void)files().write(path, "created", WriteMode::kCreate);
    }
  });
  EXPECT_GT(written, 0);
  expect_outside_untouched();
}

TEST_F(FilesRace, Listing) {
  for (int i = 0; i < 20; ++i) put("/workspace/d/e/x" + std::to_string(i) + "/y/z", "");
  put_at(outside("e/only_outside"), "");
  int seen = 0;
  race([&] {
    for (const char* path : {"/workspace", "d", "d/e", "absolute/e"}) {
      const auto result = files().list(path, {.recursive = true, .changed_since_ms = {}});
      if (!result.ok()) continue;
      for (const auto& entry : result.value().entries) {
        ASSERT_EQ(entry.path.find("only_outside"), std::string::npos) << entry.path;
        ++seen;
      }
    }
  });
  EXPECT_GT(seen, 0);
}

// The directory we are in is moved somewhere else, so that ".." leads to a stranger.
TEST_F(FilesRace, ListingWhileDirectoriesAreMovedAway) {
  fs::create_directories(host("/workspace/a/b/c/d"));
  fs::create_directories(host("/home/user/secret"));
  put("/home/user/secret/only_there", "");
  std::atomic<bool> stop{false};
  std::thread adversary([&] {
    const std::string inner = host("/workspace/a/b/c");
    const std::string away = host("/home/user/c");
    while (!stop) {
      (void)::rename(inner.c_str(), away.c_str());
      (void)::rename(away.c_str(), inner.c_str());
    }
  });
  const auto end = std::chrono::steady_clock::now() + kRaceTime;
  while (std::chrono::steady_clock::now() < end) {
    const auto result = files().list("/workspace", {.recursive = true, .changed_since_ms = {}});
    ASSERT_TRUE(result.ok());
    for (const auto& entry : result.value().entries) {
      ASSERT_EQ(entry.path.find("only_there"), std::string::npos) << entry.path;
    }
  }
  stop = true;
  adversary.join();
}

TEST_F(FilesRace, RemovingWhileLinksAreExchanged) {
  const base::UniqueFd workspace(
      ::open(host("/workspace").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  race([&] {
    fs::path tree = host("/workspace/t");
    std::error_code ignored;
    fs::create_directories(tree / "x", ignored);
    base::WorkBudget budget({.steps = 1'000'000, .cpu_time = std::chrono::minutes(10)});
    (void)sandbox::files::tree_usage(workspace.get(), 1000, budget);
    // Whatever "d" is at this moment, a link or a directory.
    (void)::renameat(workspace.get(), "d", workspace.get(), "t/x/d");
    (void)sandbox::files::remove_tree(workspace.get(), "t");
    fs::create_directories(host("/workspace/d/e"), ignored);
    (void)::symlinkat("../../outside", workspace.get(), "relative");
  });
  expect_outside_untouched();
}

TEST_F(FilesRace, ReadingAFileThatGrowsAndShrinks) {
  put("/workspace/f", "");
  std::atomic<bool> stop{false};
  std::thread adversary([&] {
    const base::UniqueFd file(::open(host("/workspace/f").c_str(), O_WRONLY | O_CLOEXEC));
    while (!stop) {
      (void)::ftruncate(file.get(), 200'000);
      (void)::ftruncate(file.get(), 10);
      (void)::ftruncate(file.get(), 1'000'000'000);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const auto result = files().read("f", 0, 100'000);
    ASSERT_TRUE(result.ok());
    ASSERT_LE(result.value().content.size(), 100'000U);
    ASSERT_GE(result.value().total_bytes, static_cast<std::int64_t>(result.value().content.size()));
  }
  stop = true;
  adversary.join();
}

}  // namespace
