#include "sandbox/unfinished_uploads.h"

#include <gtest/gtest.h>
#include <utime.h>

#include "tests/support/temporary_directory.h"

namespace sandbox {
namespace {

TEST(UnfinishedUploads, CountAsMuchAsTheyAreToHave) {
  const TemporaryDirectory directory;
  directory.write("upload_000000000001", "abc");
  directory.write("upload_000000000001.json", R"({"length_bytes":100,"path":"a"})");
  directory.write("upload_000000000002", "");
  directory.write("upload_000000000002.placing", R"({"length_bytes":20,"path":"b"})");
  const UnfinishedUploads found = unfinished_uploads(directory.fd());
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.bytes, 120);
  EXPECT_EQ(found.placed_bytes, 20);
}

TEST(UnfinishedUploads, DoNotCountWithoutDataOrAfterTheirTime) {
  const TemporaryDirectory directory;
  directory.write("upload_000000000001.json", R"({"length_bytes":100,"path":"a"})");
  directory.write("upload_000000000002", "old");
  directory.write("upload_000000000002.json", R"({"length_bytes":100,"path":"b"})");
  const ::utimbuf long_ago{1, 1};
  ASSERT_EQ(::utime((directory.path() + "/upload_000000000002").c_str(), &long_ago), 0);
  const UnfinishedUploads found = unfinished_uploads(directory.fd());
  EXPECT_EQ(found.count, 0U);
  EXPECT_EQ(found.bytes, 0);
}

TEST(UnfinishedUploads, GiveNoRoomBackByWhatTheirDescriptionsSay) {
  const TemporaryDirectory directory;
  directory.write("upload_000000000001", "");
  directory.write("upload_000000000001.json", R"({"length_bytes":-5})");
  directory.write("upload_000000000002", "");
  directory.write("upload_000000000002.json", "no JSON");
  const UnfinishedUploads found = unfinished_uploads(directory.fd());
  EXPECT_EQ(found.count, 2U);
  EXPECT_EQ(found.bytes, 0);
}

}  // namespace
}  // namespace sandbox
