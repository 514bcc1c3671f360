// Tests what makes a session worth keeping, and what its interpreters leave by themselves.
#include "sandbox/files/session_contents.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/fd.h"

namespace {

namespace fs = std::filesystem;

class SessionContents : public ::testing::Test {
 protected:
  SessionContents() : top_(::testing::TempDir() + "hutch_contents_XXXXXX") {
    if (::mkdtemp(top_.data()) == nullptr) std::abort();
    make_anew();
  }
  ~SessionContents() override { fs::remove_all(top_); }

  void make_anew() {
    fs::remove_all(top_);
    for (const char* name : {"workspace", "home", "tmp", "runs/run_1", "uploads", "calls"}) {
      fs::create_directories(top_ + "/" + name);
    }
    for (const char* name :
         {"lock", "box.log", "network-1", "dropped_outputs", "tmp/left", "runs/run_1/stdout"}) {
      put(name);
    }
  }
  void put(const std::string& name) {
    fs::create_directories(fs::path(top_ + "/" + name).parent_path());
    std::ofstream(top_ + "/" + name) << "x";
  }
  [[nodiscard]] bool has_something() const {
    const auto directory = base::open_file(AT_FDCWD, top_, O_RDONLY | O_DIRECTORY);
    return sandbox::files::may_hold_something(directory.value().get());
  }

  std::string top_;
};

TEST_F(SessionContents, WhatIsThereByItselfIsNothing) {
  EXPECT_FALSE(has_something());
  for (const char* name : {".cache/matplotlib/fontlist-v330.json", ".cache/fontconfig/a.cache-8",
                           ".cache/fontconfig/CACHEDIR.TAG"}) {
    put(std::string("home/") + name);
  }
  fs::create_directories(top_ + "/home/.config/matplotlib");
  fs::create_directories(top_ + "/home/.local/share/hutch");
  fs::create_directories(top_ + "/home/.local/lib");
  EXPECT_FALSE(has_something());
}

TEST_F(SessionContents, AnythingElseIsSomething) {
  for (const char* name :
       {"workspace/file", "workspace/.hidden", "workspace/directory/file", "home/.bashrc",
        "home/notes", "home/.local/share/hutch/session.sqlite",
        "home/.local/lib/python3.11/site-packages/package.py", "home/.local/share/other/file",
        "home/.config/matplotlib/matplotlibrc", "home/.cache/matplotlib/directory/file",
        "home/.cache/pip/file", "home/.npmrc", "uploads/upload_1", "calls/run_1", "snapshot",
        "state/python"}) {
    put(name);
    EXPECT_TRUE(has_something()) << name;
    make_anew();
    ASSERT_FALSE(has_something());
  }
}

// runners/bash/state.sh writes such copies; the newest one counts.
TEST_F(SessionContents, WhatAShellKnowsIsSomethingUnlessItIsWhatANewOneKnows) {
  const auto put_copy = [this](const char* name, const std::string& number, bool is_plain) {
    put(name);
    std::ofstream(top_ + "/" + name) << "#" << number << "\ncd -- /workspace\n"
                                     << (is_plain ? "# plain\n" : "x=1\n") << "#" << number << "\n";
  };
  put_copy("state/bash.0", "1", true);
  EXPECT_FALSE(has_something());
  put_copy("state/bash.1", "2", false);
  EXPECT_TRUE(has_something());
  put_copy("state/bash.0", "3", true);
  EXPECT_FALSE(has_something());
  put_copy("state/bash.1", "10", false);
  EXPECT_TRUE(has_something());
  std::ofstream(top_ + "/state/bash.1") << "#11\nx=1\n# plain\n#1";
  EXPECT_FALSE(has_something()) << "it is cut: the other one is the newest";
}

TEST_F(SessionContents, InDoubtThereIsSomething) {
  fs::create_directory_symlink("/nowhere", top_ + "/home/.cache");
  EXPECT_TRUE(has_something()) << "a link where a directory may be";
  fs::remove(top_ + "/home/.cache");
  put("home/.config");
  EXPECT_TRUE(has_something()) << "a file there";
  fs::remove(top_ + "/home/.config");
  ASSERT_FALSE(has_something());
  fs::remove(top_ + "/workspace");
  EXPECT_TRUE(has_something()) << "no workspace";
  fs::create_directory_symlink("tmp", top_ + "/workspace");
  EXPECT_TRUE(has_something()) << "a link to one";
}

}  // namespace
