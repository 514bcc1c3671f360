// A directory of one test's own, gone with it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/fd.h"

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(::testing::TempDir() + "hutch_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    fd_ = base::open_file(AT_FDCWD, path_, O_RDONLY | O_DIRECTORY).value();
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
  base::UniqueFd fd_;
};
