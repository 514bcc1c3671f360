// read_file and share_file from the host's side: what a path means, and what is refused.
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <algorithm>

#include "sandbox/files/box_path.h"
#include "tests/unit/sandbox/files_fixture.h"

namespace {

using namespace files_test;
using testing::Test;

class FilesRead : public FilesTest {};

TEST_F(FilesRead, RelativeMeansWorkspaceAndAbsoluteMeansTheBox) {
  put("/workspace/a.txt", "work");
  put("/home/user/b.txt", "home");
  EXPECT_EQ(read("a.txt"), "work");
  EXPECT_EQ(read("./a.txt"), "work");
  EXPECT_EQ(read("/workspace//./a.txt"), "work");
  EXPECT_EQ(read("../home/user/b.txt"), "home");
  EXPECT_EQ(files().read("../home/user/b.txt", 0, 9).value().path, "/home/user/b.txt");
}

TEST_F(FilesRead, RelativeMeansTheWorkingDirectoryOfTheSession) {
  put("/home/user/b.txt", "home");
  const BoxFiles at_home(base::duplicate(root_fd()).value(), Identity{}, "/home/user");
  EXPECT_EQ(at_home.read("b.txt", 0, 9).value().path, "/home/user/b.txt");
  EXPECT_EQ(at_home.write("deep/c", "c", WriteMode::kCreate).value().path, "/home/user/deep/c");
  EXPECT_EQ(text_of(at_home.read("", 0, 9).error()),
            "invalid: path must not be empty; relative paths start at /home/user");
}

TEST_F(FilesRead, AttributesAreThoseOfTheFileItself) {
  using sandbox::files::Attributes;
  const auto attributes_of = [this](const char* path, std::size_t most = 1000) {
    return files().attributes_of(path, "user.t.", most).value();
  };
  const auto written = files().write("a", "x", WriteMode::kOverwrite, std::nullopt,
                                     {{"user.t.one", "1"}, {"user.other", "2"}});
  if (!written.ok() && written.error().kind == Error::Kind::kUnsupported) {
    GTEST_SKIP() << "the file system of /tmp keeps no attributes";
  }
  ASSERT_TRUE(written.ok()) << text_of(written.error());
  EXPECT_EQ(attributes_of("a"), (Attributes{{"one", "1"}}));
  EXPECT_EQ(attributes_of("a", 3), Attributes()) << "it has no room";
  fs::create_symlink("a", host("/workspace/link"));
  EXPECT_EQ(attributes_of("link"), Attributes());
  EXPECT_FALSE(files().attributes_of("none", "user.t.", 1000).ok());
  // Attributes that cannot be kept leave the file as it was.
  EXPECT_FALSE(files()
                   .write("a", "y", WriteMode::kOverwrite, std::nullopt,
                          {{"user.t." + std::string(300, 'n'), "1"}})
                   .ok());
  EXPECT_EQ(read("a"), "x");
  EXPECT_EQ(attributes_of("a"), (Attributes{{"one", "1"}}));
  ASSERT_TRUE(files().write("a", "y", WriteMode::kOverwrite).ok());
  EXPECT_EQ(attributes_of("a"), Attributes()) << "of another file";
}

TEST_F(FilesRead, OffsetAndLimit) {
  put("/workspace/a", "0123456789");
  const auto part = files().read("a", 3, 4).value();
  EXPECT_EQ(part.content, "3456");
  EXPECT_EQ(part.offset, 3);
  EXPECT_EQ(part.total_bytes, 10);
  EXPECT_EQ(files().read("a", 8, 100).value().content, "89");
  EXPECT_EQ(files().read("a", 10, 100).value().content, "");
}

TEST_F(FilesRead, OffsetBeyondTheEndNamesTheSize) {
  put("/workspace/a", "0123456789");
  const auto result = files().read("a", 11, 4);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(text_of(result.error()),
            "invalid: /workspace/a: offset 11 is beyond the end; the file has 10 bytes");
}

TEST_F(FilesRead, RangesAreNamed) {
  put("/workspace/a", "x");
  EXPECT_EQ(text_of(files().read("a", -1, 1).error()), "invalid: offset must be 0 or more");
  for (const std::int64_t limit : {std::int64_t{0}, sandbox::files::kReadBytesMax + 1}) {
    EXPECT_EQ(text_of(files().read("a", 0, limit).error()),
              "invalid: limit must be from 1 to 16777216 bytes");
  }
}

TEST_F(FilesRead, PathsThatNoPathCanBe) {
  EXPECT_TRUE(read("").starts_with("invalid: path must not be empty"));
  EXPECT_TRUE(read(std::string("a\0b", 3)).starts_with("invalid: path must not hold a NUL"));
  EXPECT_TRUE(read("a\xff").starts_with("invalid: path must be UTF-8"));
  EXPECT_TRUE(read(std::string(5000, 'a')).starts_with("invalid: path is longer than 4095"));
  EXPECT_NE(read(std::string(256, 'a')).find("longer than 255"), std::string::npos);
}

TEST_F(FilesRead, MissingFile) {
  EXPECT_EQ(
      read("none"),
      "not_found: /workspace/none: no such file or directory; list_files shows what is there");
  EXPECT_EQ(files().read("none", 0, 1).error().lack, base::Error::Lack::kNothing);
  EXPECT_EQ(files().read("/Users/me/a.csv", 0, 1).error().lack, base::Error::Lack::kHostFolder);
  put("/workspace/file", "");
  EXPECT_NE(read("file/below").find("a part of this path is a file"), std::string::npos);
}

TEST_F(FilesRead, DirectoryPointsToListFiles) {
  EXPECT_EQ(read("/workspace"), "invalid: /workspace: is a directory; use list_files");
  EXPECT_EQ(read("/"), "invalid: /: is a directory; use list_files");
  put("/workspace/a", "x");
  EXPECT_NE(read("a/").find("is a directory"), std::string::npos);
}

TEST_F(FilesRead, LinksWithinTheBoxAreFollowed) {
  put("/workspace/data/a", "content");
  link("data/a", "/workspace/relative");
  link("/workspace/data/a", "/workspace/absolute");
  link("/workspace/data", "/home/user/directory");
  EXPECT_EQ(read("relative"), "content");
  EXPECT_EQ(read("absolute"), "content");
  EXPECT_EQ(read("/home/user/directory/a"), "content");
}

TEST_F(FilesRead, LinksOutEndInTheBox) {
  link(outside("canary"), "/workspace/absolute");
  link("../../outside/canary", "/workspace/relative");
  link("../../../../../../../../../../.." + outside("canary"), "/workspace/far");
  link("../..", "/workspace/up");
  for (const char* path : {"absolute", "relative", "far", "up/outside/canary",
                           "../../outside/canary", "/../outside/canary"}) {
    EXPECT_TRUE(read(path).starts_with("not_found")) << path << " " << read(path);
  }
}

TEST_F(FilesRead, DotsAfterALinkMeanTheParentOfWhereItLeads) {
  put("/home/user/deep/in/x", "");
  put("/home/user/deep/secret", "as the kernel sees it");
  put("/workspace/secret", "as text sees it");
  link("/home/user/deep/in", "/workspace/link");
  EXPECT_EQ(read("link/../secret"), "as the kernel sees it");
  fs::create_directory(host("/workspace/plain"));
  const auto plain = files().read("plain/../secret", 0, 100).value();
  EXPECT_EQ(plain.content, "as text sees it");
  EXPECT_EQ(plain.path, "/workspace/secret");
}

TEST_F(FilesRead, LinkLoopEnds) {
  link("b", "/workspace/a");
  link("a", "/workspace/b");
  EXPECT_NE(read("a").find("link that cannot be followed"), std::string::npos);
}

TEST_F(FilesRead, MagicLinksAreRefused) {
  const BoxFiles host_root(base::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                           Identity{});
  for (const std::string& path :
       {"/proc/self/root" + outside("canary"), std::string("/proc/self/cwd/x"),
        "/proc/self/fd/" + std::to_string(root_fd()), std::string("/proc/self/exe"),
        "/proc/" + std::to_string(::getpid()) + "/root/etc/passwd"}) {
    const auto result = host_root.read(path, 0, 100);
    ASSERT_FALSE(result.ok()) << path;
    EXPECT_NE(result.error().message.find("link that cannot be followed"), std::string::npos)
        << text_of(result.error());
  }
}

TEST_F(FilesRead, ProcAndSysAreRefused) {
  const BoxFiles host_root(base::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                           Identity{});
  for (const char* path : {"/proc/self/status", "/proc/meminfo", "/proc", "/sys/kernel/notes"}) {
    const auto result = host_root.read(path, 0, 100);
    ASSERT_FALSE(result.ok()) << path;
    EXPECT_NE(result.error().message.find("belongs to the kernel"), std::string::npos)
        << text_of(result.error());
  }
}

TEST_F(FilesRead, PipeIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(host("/workspace/pipe").c_str(), 0644), 0);
  EXPECT_EQ(read("pipe"),
            "invalid: /workspace/pipe: is a named pipe, not a regular file; read it with run_code "
            "instead");
  EXPECT_FALSE(files().open("pipe").ok());
}

TEST_F(FilesRead, SocketIsRefused) {
  const base::UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = host("/workspace/s");
  std::copy(path.begin(), path.end(), address.sun_path);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_NE(read("s").find("is a socket"), std::string::npos);
}

TEST_F(FilesRead, DeviceIsRefused) {
  const BoxFiles host_root(base::UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)),
                           Identity{});
  const auto result = host_root.read("/dev/zero", 0, 100);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("is a device"), std::string::npos);
}

TEST_F(FilesRead, LeaseDoesNotHoldUsUp) {
  put("/workspace/a", "x");
  const base::UniqueFd holder(::open(host("/workspace/a").c_str(), O_WRONLY | O_CLOEXEC));
  (void)::signal(SIGIO, SIG_IGN);
  ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
  EXPECT_TRUE(read("a").starts_with("unavailable")) << read("a");
}

TEST_F(FilesRead, SparseTebibyteIsReadWithinTheLimit) {
  put("/workspace/big", "head");
  ASSERT_EQ(::truncate(host("/workspace/big").c_str(), std::int64_t{1} << 40), 0);
  const auto head = files().read("big", 0, 10).value();
  EXPECT_EQ(head.content, std::string("head\0\0\0\0\0\0", 10));
  EXPECT_EQ(head.total_bytes, std::int64_t{1} << 40);
  const auto tail =
      files().read("big", (std::int64_t{1} << 40) - 5, sandbox::files::kReadBytesMax).value();
  EXPECT_EQ(tail.content.size(), 5U);
}

TEST_F(FilesRead, UnreadableFileSaysSo) {
  if (is_root()) GTEST_SKIP() << "root reads everything";
  put("/workspace/a", "x");
  ASSERT_EQ(::chmod(host("/workspace/a").c_str(), 0), 0);
  EXPECT_NE(read("a").find("permission denied"), std::string::npos);
}

TEST_F(FilesRead, OddNamesAreOrdinary) {
  for (const std::string& name : {std::string("a\nb"), std::string(255, 'n'), std::string("-rf"),
                                  std::string("\xc3\xa9\xf0\x9f\xa6\x9b"), std::string("...")}) {
    put("/workspace/" + name, name);
    EXPECT_EQ(read(name), name);
  }
}

TEST_F(FilesRead, OpenGivesTheFileForSharing) {
  put("/workspace/a", "share me");
  const auto file = files().open("a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(base::read_all(file.value().get(), 100).value(), "share me");
  EXPECT_EQ(::fcntl(file.value().get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  EXPECT_NE(::fcntl(file.value().get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_FALSE(files().open("/workspace").ok());
  EXPECT_FALSE(files().open("a/").ok());
}

TEST(FilesPath, Utf8) {
  using sandbox::files::is_utf8;
  for (const char* good :
       {"", "a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xffz"}) {
    EXPECT_FALSE(is_utf8(bad)) << bad;
  }
}

TEST(FilesPath, EscapingIsReversible) {
  EXPECT_EQ(sandbox::files::escape_path("/a\\x\xff\xc3\xa9\n"), "/a\\\\x\\xFF\xc3\xa9\n");
}

}  // namespace
