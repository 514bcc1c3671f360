// A directory that stands for a box's root, with something outside that nobody may reach.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "sandbox/files/box_files.h"
#include "sandbox/files/tree.h"

namespace files_test {

namespace fs = std::filesystem;
using base::Error;
using sandbox::files::BoxFiles;
using sandbox::files::Identity;
using sandbox::files::ListOptions;
using sandbox::files::WriteMode;

inline const std::string kCanary = "CANARY: this lies outside of the box";

class FilesTest : public testing::Test {
 protected:
  // `parent` decides the file system.
  explicit FilesTest(const std::string& parent = "/tmp") {
    std::string name = parent + "/hutch-files-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    // Another user must be able to pass through.
    EXPECT_EQ(::chmod(top_.c_str(), 0755), 0);
    for (const char* directory : {"/outside", "/root/workspace", "/root/home/user", "/root/tmp"}) {
      fs::create_directories(top_ + directory);
    }
    put_at(top_ + "/outside/canary", kCanary);
    root_ = base::UniqueFd(::open((top_ + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

  ~FilesTest() override {
    const base::UniqueFd parent(
        ::open(fs::path(top_).parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto removed =
        sandbox::files::remove_tree(parent.get(), fs::path(top_).filename().string());
    EXPECT_TRUE(removed.ok()) << removed.error().message;
  }

  // Where a path of the box lies on the host.
  [[nodiscard]] std::string host(const std::string& path) const { return top_ + "/root" + path; }
  [[nodiscard]] std::string outside(const std::string& name) const {
    return top_ + "/outside/" + name;
  }
  [[nodiscard]] int root_fd() const { return root_.get(); }

  [[nodiscard]] BoxFiles files(const Identity& identity = {}) const {
    return BoxFiles(base::UniqueFd(::fcntl(root_.get(), F_DUPFD_CLOEXEC, 3)), identity);
  }

  static void put_at(const std::string& host_path, const std::string& content) {
    std::ofstream stream(host_path, std::ios::binary);
    stream << content;
    ASSERT_TRUE(stream.good()) << host_path;
  }
  void put(const std::string& path, const std::string& content) const {
    fs::create_directories(fs::path(host(path)).parent_path());
    put_at(host(path), content);
  }
  [[nodiscard]] std::string get(const std::string& path) const {
    std::ifstream stream(host(path), std::ios::binary);
    std::ostringstream content;
    content << stream.rdbuf();
    return stream.good() ? content.str() : "<unreadable>";
  }
  void link(const std::string& target, const std::string& path) const {
    ASSERT_EQ(::symlink(target.c_str(), host(path).c_str()), 0);
  }
  [[nodiscard]] mode_t mode_of(const std::string& path) const {
    struct stat status {};
    EXPECT_EQ(::lstat(host(path).c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }
  // Names in a directory of the box, hidden ones too, sorted.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(host(path))) {
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  // Returns what reading gives: the content, or "kind: message".
  [[nodiscard]] std::string read(const std::string& path) const {
    const auto result = files().read(path, 0, 1 << 20);
    return result.ok() ? result.value().content : text_of(result.error());
  }
  static std::string text_of(const Error& error) {
    static const char* const kNames[] = {"invalid",     "not_found",   "limit",   "conflict",
                                         "unsupported", "unavailable", "internal"};
    return std::string(kNames[static_cast<int>(error.kind)]) + ": " + error.message;
  }

  std::string top_;

 private:
  base::UniqueFd root_;
};

inline bool is_root() { return ::geteuid() == 0; }

}  // namespace files_test
