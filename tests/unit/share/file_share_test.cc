// Publishing: the copy, its name, its type, its end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/fd.h"
#include "base/random_id.h"
#include "sessions/principal_table.h"
#include "sessions/session_table.h"
#include "sessions/share_table.h"
#include "sessions/store.h"
#include "share/file_share.h"
#include "share/mime.h"

namespace {

using namespace share;
namespace fs = std::filesystem;

// Else a test would be named by the bytes of its parameter.
template <typename Case>
std::string number_of(const testing::TestParamInfo<Case>& info) {
  return std::to_string(info.index);
}

class FileShareTest : public testing::Test {
 protected:
  FileShareTest() : directory_(::testing::TempDir() + "hutch_share_XXXXXX") {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    store_ = sessions::Store::open(directory_ + "/db").value();
    sessions::Session session;
    session.id = "s";
    session.principal_id = principal_ = store_->principals.ensure("p").value();
    EXPECT_TRUE(store_->sessions.create(session, std::nullopt, 10).ok());
  }
  ~FileShareTest() override { fs::remove_all(directory_); }

  base::Result<sessions::Share> publish(const std::string& content, const std::string& path,
                                        const std::string& filename = "") {
    const base::UniqueFd source = base::make_memory_file("source", content).value();
    return share().publish(source.get(), {"s", principal_, path, filename, 60});
  }
  FileShare share() {
    return FileShare::open(directory_ + "/shared", store_->shares, store_->upkeep).value();
  }
  std::string content_of(const sessions::Share& shared) {
    std::ifstream file(share().stored_path(shared));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string directory_;
  std::unique_ptr<sessions::Store> store_;
  std::string principal_;
};

TEST_F(FileShareTest, CopiesAndDescribes) {
  const auto shared = publish("a,b\n1,2\n", "/workspace/t.csv").value();
  EXPECT_EQ(shared.filename, "t.csv");
  EXPECT_EQ(shared.bytes, 8);
  EXPECT_EQ(shared.mime_type, "text/csv");
  EXPECT_EQ(shared.sha256.size(), 64U);
  EXPECT_EQ(content_of(shared), "a,b\n1,2\n");
  EXPECT_EQ(store_->shares.find(principal_, shared.id).value().sha256, shared.sha256);
}

TEST_F(FileShareTest, KnownHash) {
  EXPECT_EQ(publish("abc", "x").value().sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(publish("", "x").value().sha256,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(FileShareTest, WhatAPrincipalSharesIsCounted) {
  EXPECT_EQ(store_->shares.shared_by(principal_, 10).value().files, 0);
  (void)publish("abc", "x").value();
  const auto second = publish("defgh", "y").value();
  const auto both = store_->shares.shared_by(principal_, 10).value();
  EXPECT_EQ(both.files, 2);
  EXPECT_EQ(both.bytes, 8);
  EXPECT_EQ(store_->shares.shared_by(principal_, 1).value().files, 1);
  EXPECT_EQ(store_->shares.shared_by("another", 10).value().files, 0);
  ASSERT_TRUE(share().revoke(principal_, second.id).ok());
  EXPECT_EQ(store_->shares.shared_by(principal_, 10).value().bytes, 3);
}

TEST_F(FileShareTest, TooLargeLeavesNothing) {
  const base::UniqueFd source(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  ASSERT_TRUE(source.valid());
  ASSERT_EQ(::ftruncate(source.get(), kShareBytesMax + 1), 0);
  const auto shared = share().publish(source.get(), {"s", principal_, "big", "", 60});
  ASSERT_FALSE(shared.ok());
  EXPECT_EQ(shared.error().kind, base::Error::Kind::kLimit);
  EXPECT_TRUE(fs::is_empty(directory_ + "/shared"));
  EXPECT_TRUE(store_->shares.list(principal_).value().empty());
}

TEST_F(FileShareTest, TheSweepRemovesWhatExpiredAndWhatWasInterrupted) {
  const auto kept = publish("k", "kept").value();
  auto expired = publish("e", "expired").value();
  ASSERT_TRUE(store_->shares.remove(expired).ok());
  expired.expires_at = 1;
  ASSERT_TRUE(store_->shares.insert(expired).ok());
  const std::string orphan = directory_ + "/shared/" + base::random_id("share_");
  fs::create_directory(orphan);
  const std::string young = directory_ + "/shared/" + base::random_id("share_");
  fs::create_directory(young);
  // As of a database that was moved aside.
  const std::string whole = directory_ + "/shared/" + base::random_id("share_");
  fs::create_directory(whole);
  std::ofstream(whole + "/file") << "x";
  const std::time_t days_ago = std::time(nullptr) - 20 * 86'400;
  const timespec lately[2] = {{days_ago, 0}, {days_ago, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, whole.c_str(), lately, 0), 0);
  const timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, orphan.c_str(), old, 0), 0);
  const FileShare::Swept swept = share().sweep();
  ASSERT_EQ(swept.expired.size(), 1U);
  EXPECT_EQ(swept.expired[0].id, expired.id);
  EXPECT_EQ(swept.orphans, std::vector<std::string>{orphan.substr(orphan.rfind('/') + 1)});
  EXPECT_TRUE(fs::exists(share().stored_path(kept)));
  EXPECT_FALSE(fs::exists(directory_ + "/shared/" + expired.id));
  EXPECT_FALSE(fs::exists(orphan));
  EXPECT_TRUE(fs::exists(whole));
  EXPECT_TRUE(fs::exists(young)) << "it may be a copy in progress";
}

TEST_F(FileShareTest, AShareWithoutItsSessionIsRefusedAndLeavesNothing) {
  const base::UniqueFd source = base::make_memory_file("source", "x").value();
  EXPECT_FALSE(share().publish(source.get(), {"nobody", principal_, "x", "", 60}).ok());
  EXPECT_TRUE(fs::is_empty(directory_ + "/shared"));
}

struct NameCase {
  const char* wanted;
  const char* safe;
  friend void PrintTo(const NameCase& value, std::ostream* out) { *out << value.safe; }
};
class SafeFilename : public testing::TestWithParam<NameCase> {};
TEST_P(SafeFilename, IsSafe) { EXPECT_EQ(safe_filename(GetParam().wanted), GetParam().safe); }
INSTANTIATE_TEST_SUITE_P(
    Names, SafeFilename,
    testing::Values(NameCase{"a.csv", "a.csv"}, NameCase{"/workspace/d/a.csv", "a.csv"},
                    NameCase{"../../etc/passwd", "passwd"}, NameCase{"..", "_."},
                    NameCase{".hidden", "_hidden"}, NameCase{"", "file"}, NameCase{"a/", "file"},
                    NameCase{"line\nbreak", "line_break"}, NameCase{"back\\slash", "back_slash"},
                    NameCase{"-rf", "_rf"}, NameCase{"\u202egpj.exe", "_gpj.exe"},
                    NameCase{"a\u2066b\u2069\u200f\u061c\u2028", "a_b____"},
                    NameCase{"a\u0085\u009fb", "a__b"}, NameCase{"…‰", "…‰"},
                    NameCase{"-/..", "_."}, NameCase{"ünï", "ünï"}, NameCase{"sp ace", "sp ace"}),
    number_of<NameCase>);

TEST(SafeFilename, LongNamesEndAtACharacter) {
  std::string wanted;
  for (int i = 0; i < 150; ++i) wanted += "é";
  const std::string safe = safe_filename(wanted);
  EXPECT_LE(safe.size(), 200U);
  EXPECT_EQ(safe.size() % 2, 0U);
}

TEST(SafeFilename, LongNamesKeepTheirExtension) {
  const std::string stem(251, 'a');
  EXPECT_EQ(safe_filename(stem + ".csv"), stem.substr(0, 196) + ".csv");
  EXPECT_EQ(safe_filename(stem + ".tar.gz"), stem.substr(0, 193) + ".tar.gz");
  EXPECT_EQ(safe_filename("a." + stem), "a." + stem.substr(0, 198));
}

struct MimeCase {
  const char* name;
  std::string content;
  const char* type;
  friend void PrintTo(const MimeCase& value, std::ostream* out) { *out << value.name; }
};
class Mime : public testing::TestWithParam<MimeCase> {};
TEST_P(Mime, IsRecognised) {
  EXPECT_EQ(mime_type_of(GetParam().content, GetParam().name), GetParam().type);
}
INSTANTIATE_TEST_SUITE_P(
    Types, Mime,
    testing::Values(
        MimeCase{"x", "1", "text/plain"}, MimeCase{"x.csv", "1\n", "text/csv"},
        MimeCase{"letter", "a", "text/plain"}, MimeCase{"x.md", "1", "text/markdown"},
        MimeCase{"line", "\n", "text/plain"}, MimeCase{"blank.txt", " ", "text/plain"},
        MimeCase{"x", "\x01", "application/octet-stream"},
        MimeCase{"a.csv", "a,b\n1,2\n", "text/csv"}, MimeCase{"a.txt", "hello\n", "text/plain"},
        MimeCase{"a.json", "{\"a\": 1}", "application/json"},
        MimeCase{"a.md", "# title\n", "text/markdown"},
        MimeCase{"a.png", "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR", 8), "image/png"},
        MimeCase{"not_an_image.csv", "\x89PNG\r\n\x1a\n" + std::string("\0\0\0\rIHDR", 8),
                 "image/png"},
        MimeCase{"a.pdf", "%PDF-1.4\n", "application/pdf"}, MimeCase{"empty.txt", "", "text/plain"},
        MimeCase{"a.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "image/svg+xml"}),
    number_of<MimeCase>);

TEST(MimeOfName, SaysWhatItCan) {
  EXPECT_EQ(mime_type_of_name("plot.png"), "image/png");
  EXPECT_EQ(mime_type_of_name("a.csv"), "text/csv");
  EXPECT_EQ(mime_type_of_name("REPORT.CSV"), "text/csv");
  EXPECT_EQ(mime_type_of_name("a.xyz"), "");
  EXPECT_EQ(mime_type_of_name("png"), "");
}

}  // namespace
