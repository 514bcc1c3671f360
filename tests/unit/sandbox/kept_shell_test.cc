// Tests that what a shell knows is put back into the next box, from the newer copy that is whole.
#include "sandbox/box/kept_shell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sandbox/box/state_directory.h"
#include "tests/support/temporary_directory.h"

namespace {

using sandbox::box::EventLoop;
using sandbox::box::KeptShell;

std::string all_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The state that a file has, without the line of its sum.
std::string text_in(const std::string& path) {
  std::string text = all_in(path);
  const std::size_t sum = text.find("# crc32 ");
  if (sum != text.npos) text.erase(sum, text.find('\n', sum) + 1 - sum);
  return text;
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A box in which bash keeps its state, and its session.
class Box {
 public:
  explicit Box(const std::string& session)
      : loop_(EventLoop::create().value()),
        session_(base::open_file(AT_FDCWD, session, O_RDONLY | O_DIRECTORY).value()),
        directory_(sandbox::box::StateDirectory::open(session_.get()).value()) {
    std::filesystem::create_directories(state());
    root_ = base::open_file(AT_FDCWD, root_directory_.path(), O_PATH | O_DIRECTORY).value();
    kept_ = KeptShell::open(*loop_, directory_, root_.get(), std::nullopt).value();
  }

  [[nodiscard]] std::string state() const { return root_directory_.path() + "/run/hutch/state"; }
  [[nodiscard]] std::string text() const { return text_in(state() + "/bash.0"); }
  void keep(int file, const std::string& text) const {
    put(state() + "/bash." + std::to_string(file), text);
  }
  void store() {
    kept_->store();
    kept_->flush();
  }
  void turn() { ASSERT_TRUE(loop_->turn().ok()); }
  KeptShell* operator->() { return kept_.get(); }

 private:
  const TemporaryDirectory root_directory_;
  std::unique_ptr<EventLoop> loop_;
  base::UniqueFd session_;
  sandbox::box::StateDirectory directory_;
  base::UniqueFd root_;
  std::unique_ptr<KeptShell> kept_;
};

TEST(KeptShellTest, TheNextBoxHasTheNewestThatIsWhole) {
  const TemporaryDirectory session;
  Box first(session.path());
  EXPECT_FALSE(first->put_back());
  first.keep(0, "#1\none\n#1\n");
  first.store();
  EXPECT_TRUE(first->is_stored());
  first.keep(1, "#2\ntwo\n#2\n");
  first.store();
  first.keep(0, "#3\nnot whole");
  first.store();
  Box second(session.path());
  EXPECT_TRUE(second->put_back());
  EXPECT_EQ(second.text(), "#2\ntwo\n#2\n");
  EXPECT_TRUE(second->is_stored());
  struct stat status {};
  ASSERT_EQ(::stat((session.path() + "/state/bash.0").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(KeptShellTest, OfACopyThatWasCutTheOneBeforeIsThere) {
  const TemporaryDirectory session;
  Box first(session.path());
  first.keep(0, "#1\none\n#1\n");
  first.store();
  first.keep(1, "#2\ntwo\n#2\n");
  first.store();
  for (const std::string& cut : {std::string("#2\nt"), std::string(), std::string(12, '\0')}) {
    put(session.path() + "/state/bash.1", cut);
    Box second(session.path());
    EXPECT_TRUE(second->put_back());
    EXPECT_EQ(second.text(), "#1\none\n#1\n");
    // The next copy takes the place of the one that is of no use.
    second.keep(1, "#2\nother\n#2\n");
    second.store();
    EXPECT_EQ(text_in(session.path() + "/state/bash.1"), "#2\nother\n#2\n");
    EXPECT_EQ(text_in(session.path() + "/state/bash.0"), "#1\none\n#1\n");
  }
}

TEST(KeptShellTest, ADamagedCopyIsNotRun) {
  const TemporaryDirectory session;
  Box first(session.path());
  first.keep(0, "#1\none\n#1\n");
  first.store();
  first.keep(1, "#2\necho two\n#2\n");
  first.store();
  for (const char* name : {"/state/bash.0", "/state/bash.1"}) {
    std::string text = all_in(session.path() + name);
    const std::size_t place = text.find("two");
    if (place == text.npos) continue;
    text[place] ^= 1;
    put(session.path() + name, text);
  }
  Box second(session.path());
  EXPECT_TRUE(second->put_back());
  EXPECT_EQ(second.text(), "#1\none\n#1\n");
  EXPECT_NE(second->take_lack().find("may be as after an earlier run"), std::string::npos);
  EXPECT_EQ(second->take_lack(), "");
}

TEST(KeptShellTest, ACopyOfAnEarlierBuildHasNoSum) {
  const TemporaryDirectory session;
  std::filesystem::create_directory(session.path() + "/state");
  put(session.path() + "/state/bash.0", "#1\none\n#1\n");
  Box box(session.path());
  EXPECT_TRUE(box->put_back());
  EXPECT_EQ(box.text(), "#1\none\n#1\n");
  EXPECT_EQ(box->take_lack(), "");
}

TEST(KeptShellTest, NamesOfWhatIsNotKeptAreWhole) {
  const TemporaryDirectory session;
  Box first(session.path());
  std::string names;
  for (int number = 100; number < 130; ++number) {
    names += (names.empty() ? "" : ", ") + ("name_" + std::to_string(number));
  }
  first.keep(0, "#1\n# not kept: " + names + "\none\n#1\n");
  first.store();
  Box second(session.path());
  ASSERT_TRUE(second->put_back());
  const std::string said = second->take_lack();
  EXPECT_TRUE(said.ends_with("name_114 and 15 more")) << said;
}

// A power cut, or a kill, while the copy is being made leaves a file that nobody takes for one.
TEST(KeptShellTest, ACopyTakesThePlaceOfTheOlderOneOnceItIsWhole) {
  const TemporaryDirectory session;
  const std::string name = session.path() + "/state/bash.0";
  Box first(session.path());
  for (int number = 1; number <= 2; ++number) {
    const std::string line = "#" + std::to_string(number) + "\n";
    first.keep(0, line + "x" + line.substr(1) + line);
    first.store();
  }
  const base::UniqueFd older = base::open_file(AT_FDCWD, name, O_RDONLY).value();
  first.keep(0, "#3\nthree\n#3\n");
  first.store();
  EXPECT_EQ(text_in(name), "#3\nthree\n#3\n");
  EXPECT_TRUE(base::read_all(older.get(), 100).value().ends_with("x1\n#1\n"))
      << "it is another file";
  put(session.path() + "/state/bash.new", "#4\nnot who");
  Box second(session.path());
  EXPECT_FALSE(std::filesystem::exists(session.path() + "/state/bash.new"));
  EXPECT_TRUE(second->put_back());
  EXPECT_EQ(second.text(), "#3\nthree\n#3\n");
}

TEST(KeptShellTest, WhatIsOnTheDiskStaysUntilTheNextCopyIs) {
  const TemporaryDirectory session;
  const std::string copies[] = {session.path() + "/state/bash.0", session.path() + "/state/bash.1"};
  Box box(session.path());
  const auto leave = [&box](int number) {
    const std::string line = "#" + std::to_string(number) + "\n";
    box.keep(number % 2, line + "x" + line.substr(1) + line);
    box->store();
    EXPECT_TRUE(box->is_stored()) << "whoever kills the box now finds it";
  };
  leave(1);
  box->flush();
  for (int number = 2; number <= 4; ++number) {
    leave(number);
    EXPECT_EQ(text_in(copies[0]), "#1\nx1\n#1\n") << "nobody has heard of the disk";
  }
  EXPECT_EQ(text_in(copies[1]), "#4\nx4\n#4\n");
  box->flush();
  leave(5);
  EXPECT_EQ(text_in(copies[0]), "#5\nx5\n#5\n") << "the disk has a newer one";
}

TEST(KeptShellTest, AStateThatSaysNothingNewIsNotWritten) {
  const TemporaryDirectory session;
  const std::string name = session.path() + "/state/bash.0";
  Box first(session.path());
  first.keep(0, "#1\nsame\n#1\n");
  first.store();
  for (int number = 2; number <= 12; ++number) {
    const std::string line = "#" + std::to_string(number) + "\n";
    first.keep(number % 2, line + "same\n" + line);
    first.store();
    EXPECT_TRUE(first->is_stored());
  }
  EXPECT_EQ(text_in(name), "#1\nsame\n#1\n");
  EXPECT_FALSE(std::filesystem::exists(session.path() + "/state/bash.1"));
  first.keep(1, "#13\nother\n#13\n");
  first.store();
  first.keep(0, "#14\nsame\n#14\n");
  first.store();
  Box second(session.path());
  EXPECT_TRUE(second->put_back());
  EXPECT_EQ(second.text(), "#14\nsame\n#14\n");
  second.keep(1, "#15\nsame\n#15\n");
  second.store();
  EXPECT_TRUE(second->is_stored());
}

TEST(KeptShellTest, AShellThatBeginsAnewIsNotTakenForAnOlderOne) {
  const TemporaryDirectory session;
  Box first(session.path());
  first.keep(0, "#8\nold\n#8\n");
  first.store();
  first.keep(0, "#1\nnew\n#1\n");
  first.store();
  EXPECT_TRUE(first->is_stored());
  Box second(session.path());
  EXPECT_TRUE(second->put_back());
  EXPECT_EQ(second.text(), "#1\nnew\n#1\n");
}

TEST(KeptShellTest, ABoxThatIsGoingTakesNoCopyAway) {
  const TemporaryDirectory session;
  Box box(session.path());
  box.keep(0, "#1\none\n#1\n");
  box.store();
  std::filesystem::remove_all(box.state());
  box.store();
  EXPECT_EQ(text_in(session.path() + "/state/bash.0"), "#1\none\n#1\n");
}

TEST(KeptShellTest, WhatIsNoStateOfAShellIsNotTaken) {
  const TemporaryDirectory session;
  const TemporaryDirectory elsewhere;
  put(elsewhere.path() + "/secret", "#9\nsecret\n#9\n");
  Box box(session.path());
  std::filesystem::create_symlink(elsewhere.path() + "/secret", box.state() + "/bash.0");
  ASSERT_EQ(::mkfifo((box.state() + "/bash.1").c_str(), 0600), 0);
  box.store();
  std::filesystem::remove(box.state() + "/bash.1");
  box.keep(1, "#1\n" + std::string(2 << 20, 'x') + "\n#1\n");
  box.store();
  EXPECT_FALSE(std::filesystem::exists(session.path() + "/state"));
}

TEST(KeptShellTest, AnOlderCopyIsNotTheStateOfAShellThatHasTooMuch) {
  const TemporaryDirectory session;
  Box box(session.path());
  box.keep(0, "#1\none\n#1\n");
  box.store();
  EXPECT_FALSE(std::filesystem::is_empty(session.path() + "/state"));
  box.keep(1, "#2\n" + std::string(2 << 20, 'x') + "\n#2\n");
  box.store();
  EXPECT_FALSE(box->is_stored());
  EXPECT_TRUE(std::filesystem::is_empty(session.path() + "/state"));
}

}  // namespace
