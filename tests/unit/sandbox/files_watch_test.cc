#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sandbox/files/box_files.h"
#include "sandbox/files/directory_watch.h"

namespace sandbox::files {
namespace {

using Kind = DirectoryEvent::Kind;

class DirectoryWatchTest : public ::testing::Test {
 protected:
  DirectoryWatchTest() {
    std::string name = (std::filesystem::temp_directory_path() / "watch.XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    std::filesystem::create_directories(root_ / "workspace/old/deep");
    fd_ = base::open_file(AT_FDCWD, root_.string(), O_PATH | O_DIRECTORY).value();
  }
  ~DirectoryWatchTest() override { std::filesystem::remove_all(root_); }
  DirectoryWatchTest(const DirectoryWatchTest&) = delete;
  DirectoryWatchTest& operator=(const DirectoryWatchTest&) = delete;

  void write(const std::string& name) { std::ofstream(root_ / "workspace" / name) << "x"; }

  static bool has(const std::vector<DirectoryEvent>& events, const std::string& name, Kind kind) {
    return std::ranges::any_of(
        events, [&](const auto& one) { return one.name == name && one.kind == kind; });
  }

  std::filesystem::path root_;
  base::UniqueFd fd_;
};

TEST_F(DirectoryWatchTest, TellsWhatChanges) {
  const auto watch =
      DirectoryWatch::start(fd_.get(), "/workspace", DirectoryWatch::Depth::kOne).value();
  write("a");
  ASSERT_EQ(::chmod((root_ / "workspace/a").c_str(), 0600), 0);
  std::filesystem::rename(root_ / "workspace/a", root_ / "workspace/b");
  std::filesystem::remove(root_ / "workspace/b");
  write("old/unseen");
  const auto events = watch->take().value();
  for (const auto& [name, kind] : {std::pair{"a", Kind::kCreate}, std::pair{"a", Kind::kWrite},
                                   std::pair{"a", Kind::kChmod}, std::pair{"a", Kind::kRename},
                                   std::pair{"b", Kind::kCreate}, std::pair{"b", Kind::kRemove}}) {
    EXPECT_TRUE(has(events, name, kind)) << name << " " << static_cast<int>(kind);
  }
  EXPECT_TRUE(std::ranges::none_of(
      events, [](const auto& one) { return one.name.find('/') != std::string::npos; }));
  EXPECT_TRUE(watch->take().value().empty());
}

TEST_F(DirectoryWatchTest, TellsNothingOfDrafts) {
  const BoxFiles files(base::duplicate(fd_.get()).value(), std::nullopt);
  ASSERT_TRUE(files.write("old.txt", "a", WriteMode::kOverwrite).ok());
  const auto watch =
      DirectoryWatch::start(fd_.get(), "/workspace", DirectoryWatch::Depth::kOne).value();
  ASSERT_TRUE(files.write("old.txt", "bb", WriteMode::kOverwrite).ok());
  const auto over = watch->take().value();
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(has(over, "old.txt", Kind::kWrite));
  ASSERT_TRUE(files.write("new.txt", "c", WriteMode::kCreate).ok());
  const auto made = watch->take().value();
  EXPECT_TRUE(has(made, "new.txt", Kind::kCreate) && has(made, "new.txt", Kind::kWrite));
  EXPECT_TRUE(std::ranges::all_of(made, [](const auto& one) { return one.name == "new.txt"; }));
  // Such names of the user's own are told.
  write("#12");
  const auto own = watch->take().value();
  EXPECT_TRUE(has(own, "#12", Kind::kCreate) && has(own, "#12", Kind::kWrite));
}

TEST_F(DirectoryWatchTest, GoesDownIntoWhatIsNewToo) {
  const auto watch = DirectoryWatch::start(fd_.get(), "", DirectoryWatch::Depth::kAll);
  EXPECT_FALSE(watch.ok());
  const auto all =
      DirectoryWatch::start(fd_.get(), "/workspace", DirectoryWatch::Depth::kAll).value();
  write("old/deep/file");
  std::filesystem::create_directory(root_ / "workspace/new");
  EXPECT_TRUE(has(all->take().value(), "old/deep/file", Kind::kCreate));
  write("new/file");
  EXPECT_TRUE(has(all->take().value(), "new/file", Kind::kCreate));
}

TEST_F(DirectoryWatchTest, NeverLeavesTheRoot) {
  std::filesystem::create_symlink("/", root_ / "workspace/out");
  std::filesystem::create_symlink("../../../../..", root_ / "workspace/up");
  for (const char* path : {"/workspace/out/etc", "/workspace/up/etc", "/etc", "/../etc"}) {
    const auto watch = DirectoryWatch::start(fd_.get(), path, DirectoryWatch::Depth::kOne);
    ASSERT_FALSE(watch.ok()) << path;
    EXPECT_EQ(watch.error().kind, base::Error::Kind::kNotFound) << path;
  }
  write("file");
  EXPECT_FALSE(
      DirectoryWatch::start(fd_.get(), "/workspace/file", DirectoryWatch::Depth::kOne).ok());
}

TEST_F(DirectoryWatchTest, HasABound) {
  for (std::size_t i = 0; i < DirectoryWatch::kDirectoriesMax; ++i) {
    std::filesystem::create_directory(root_ / "workspace" / std::to_string(i));
  }
  const auto watch = DirectoryWatch::start(fd_.get(), "/workspace", DirectoryWatch::Depth::kAll);
  ASSERT_FALSE(watch.ok());
  EXPECT_EQ(watch.error().kind, base::Error::Kind::kLimit);
}

}  // namespace
}  // namespace sandbox::files
