// Tests that what runs have left is read in pieces, wherever it begins.
#include "sessions/run_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sessions/session_directory.h"

namespace sessions {
namespace {

class RunFilesTest : public ::testing::Test {
 protected:
  RunFilesTest() : directory_(::testing::TempDir() + "hutch_run_files_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    const std::string run = SessionDirectory(directory_, "session_a").run("run_1");
    std::filesystem::create_directories(run);
    std::ofstream(run + "/stdout") << "0123456789";
    std::filesystem::create_symlink("/etc/passwd", run + "/1.png");
  }
  ~RunFilesTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] RunFiles files() const { return RunFiles(directory_); }

  std::string directory_;
};

TEST_F(RunFilesTest, PiecesOfAStream) {
  EXPECT_EQ(files().read("session_a", "run_1", "stdout", 2, 3).value(), "234");
  EXPECT_EQ(files().read("session_a", "run_1", "stdout", 10, 3).value(), "");
  std::int64_t offset = 8;
  EXPECT_EQ(files().read_stream("session_a", "run_1", "stdout", offset, 100).value(), "89");
  EXPECT_EQ(offset, 8);
}

TEST_F(RunFilesTest, AStreamWithoutAByteIsEmptyAndAPictureIsThereOrNot) {
  EXPECT_EQ(files().read("session_a", "run_1", "stderr", 0, 3).value(), "");
  EXPECT_FALSE(files().read("session_a", "run_1", "2.png", 0, 3).ok());
  EXPECT_FALSE(files().read("session_a", "run_2", "stdout", 0, 3).ok());
}

TEST_F(RunFilesTest, ALinkIsNotFollowed) {
  EXPECT_FALSE(files().read("session_a", "run_1", "1.png", 0, 3).ok());
}

}  // namespace
}  // namespace sessions
