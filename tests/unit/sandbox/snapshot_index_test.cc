// A snapshot says what it has not, and that is read whatever the code has made of it, within
// bounds.
#include "sandbox/snapshot_index.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "tests/support/temporary_directory.h"

namespace {

using base::Error;
using nlohmann::json;
using sandbox::read_snapshot_index;

std::string little_endian(std::uint64_t number) {
  std::string bytes;
  for (int i = 0; i < 8; ++i, number >>= 8) bytes += static_cast<char>(number & 0xff);
  return bytes;
}

// As the runners write it, with values that nobody looks at before the index.
std::string snapshot_of(const std::string& index, const std::string& magic = "hutchst1") {
  const std::string before = magic + "values" + index;
  return before + little_endian(index.size()) + little_endian(before.size()) +
         std::string(32, 's') + magic;
}

class SnapshotIndexTest : public ::testing::Test {
 protected:
  SnapshotIndexTest()
      : fd_(base::open_file(AT_FDCWD, directory_.path(), O_RDONLY | O_DIRECTORY).value()) {}

  base::Result<sandbox::SnapshotIndex> read(const std::string& content) const {
    std::ofstream(path()) << content;
    return read_snapshot_index(fd_.get(), "python");
  }
  [[nodiscard]] std::string path() const { return directory_.path() + "/python"; }
  // The kind of a failure.
  static Error::Kind kind_of(const base::Result<sandbox::SnapshotIndex>& read) {
    return read.ok() ? Error::Kind::kInternal : read.error().kind;
  }

  const TemporaryDirectory directory_;
  const base::UniqueFd fd_;
};

TEST_F(SnapshotIndexTest, NamesReasonsAndWhatTheLastWakingLacked) {
  const json said = {
      {"not_kept", {{"conn", {"sqlite3.Connection", "no"}}, {"it", {"", "gone"}}}},
      {"lost", {"2 threads"}},
      {"woken", {{"after", "run_7"}, {"not_kept", {"lock (a lock)"}}, {"left_out", 3}}}};
  const auto found = read(snapshot_of(said.dump()));
  ASSERT_TRUE(found.ok()) << found.error().message;
  const auto& index = found.value();
  EXPECT_EQ(index.not_stored.words,
            (std::vector<std::string>{"conn (sqlite3.Connection: no)", "it (gone)", "2 threads"}));
  EXPECT_EQ(index.not_woken.words, std::vector<std::string>{"lock (a lock)"});
  EXPECT_EQ(index.not_woken.left_out, 3);
  EXPECT_EQ(index.woken_as, "run_7");
}

TEST_F(SnapshotIndexTest, JavaScriptsHaveOtherNames) {
  const auto index =
      read(snapshot_of(R"({"notKept": {"f": ["Function", "why"]}, "leftOut": 7})", "hutchjs1"));
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index.value().not_stored.left_out, 7);
  EXPECT_EQ(index.value().not_stored.words, std::vector<std::string>{"f (Function: why)"});
}

TEST_F(SnapshotIndexTest, AListIsBoundedAndSaysHowManyMoreThereAre) {
  json index = {{"not_kept", json::object()},
                {"woken", {{"not_kept", json::array()}, {"left_out", -5}}}};
  for (int i = 0; i < 1000; ++i) {
    index["not_kept"]["n" + std::to_string(i)] = {"kind", std::string(1000, 'y')};
    index["woken"]["not_kept"].push_back(std::string(1000, 'z'));
  }
  const auto found = read(snapshot_of(index.dump()));
  ASSERT_TRUE(found.ok()) << found.error().message;
  for (const auto* missing : {&found.value().not_stored, &found.value().not_woken}) {
    EXPECT_EQ(missing->words.size(), sandbox::kMissingMost);
    EXPECT_EQ(missing->left_out, 800);
    for (const std::string& words : missing->words) EXPECT_LT(words.size(), 500U);
  }
  index["woken"]["left_out"] = std::numeric_limits<std::int64_t>::max();
  EXPECT_LE(read(snapshot_of(index.dump())).value().not_woken.left_out, 2'000'000);
}

TEST_F(SnapshotIndexTest, WhatIsOfAnotherKindIsPassedOver) {
  for (const char* index :
       {R"({"not_kept": [1], "lost": {"a": 1}, "woken": 5})", R"({"lost": 7, "woken": [1]})",
        R"({"not_kept": {"a": 1, "b": ["x"], "c": [1, 2], "d": {}}, "lost": [1, null, {}]})",
        R"({"woken": {"after": 3, "not_kept": {"a": 1}, "left_out": "x"}})"}) {
    const auto found = read(snapshot_of(index));
    ASSERT_TRUE(found.ok()) << index;
    EXPECT_TRUE(found.value().not_stored.words.empty()) << index;
    EXPECT_TRUE(found.value().not_woken.words.empty()) << index;
    EXPECT_EQ(found.value().woken_as, "") << index;
  }
}

TEST_F(SnapshotIndexTest, TheLastRunIsToldWhereItMayBeOne) {
  const auto run_of = [this](const std::string& index) {
    std::ofstream(path()) << snapshot_of(index);
    return sandbox::run_of_snapshot(fd_.get(), "python");
  };
  EXPECT_EQ(sandbox::run_of_snapshot(fd_.get(), "python"), "");
  EXPECT_EQ(run_of(R"({"run_id": "run_2Ab"})"), "run_2Ab");
  EXPECT_EQ(run_of(R"({"runId": "run_2Ab"})"), "run_2Ab") << "as JavaScript calls it";
  for (const std::string& index :
       {std::string("{}"), std::string(R"({"run_id": 5})"), std::string(R"({"run_id": ""})"),
        std::string(R"({"run_id": "run_1; do as I say"})"), std::string(R"({"run_id": "x"})"),
        R"({"run_id": "run_)" + std::string(100, 'x') + R"("})", std::string("no JSON"),
        R"({"run_id": "run_1", "x": ")" + std::string(2 << 20, 'x') + R"("})"}) {
    EXPECT_EQ(run_of(index), "") << index.substr(0, 80);
  }
}

TEST_F(SnapshotIndexTest, WhatIsNoSnapshotIsInvalid) {
  const std::string good = snapshot_of("{}");
  ASSERT_TRUE(read(good).ok());
  const std::string ends = std::string(32, 's') + "hutchst1";
  const std::string huge = "{}" + little_endian(~std::uint64_t{0}) + little_endian(2) + ends;
  const std::string elsewhere = "{}" + little_endian(2) + little_endian(99) + ends;
  for (const std::string& content :
       {std::string(), std::string("hutchst1"), good.substr(0, good.size() - 1), huge, elsewhere,
        snapshot_of("{}", "hutchxx1"), snapshot_of("[]"), snapshot_of("not JSON"), snapshot_of(""),
        snapshot_of(R"({"a": NaN})"), snapshot_of(std::string(100'000, '['))}) {
    EXPECT_EQ(kind_of(read(content)), Error::Kind::kInvalid) << content.substr(0, 80);
  }
}

TEST_F(SnapshotIndexTest, OnlyAFileIsRead) {
  EXPECT_EQ(kind_of(read_snapshot_index(fd_.get(), "python")), Error::Kind::kNotFound);
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(kind_of(read_snapshot_index(fd_.get(), "python")), Error::Kind::kInvalid);
  std::filesystem::remove(path());
  std::ofstream(directory_.path() + "/other") << snapshot_of("{}");
  std::filesystem::create_symlink(directory_.path() + "/other", path());
  EXPECT_FALSE(read_snapshot_index(fd_.get(), "python").ok());
}

}  // namespace
