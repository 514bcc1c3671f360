// Descriptors, processes, sockets, clocks: the floor.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "base/unix_socket.h"

namespace {

using namespace base;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFd, ClosesWhatItOwns) {
  int number = -1;
  {
    const UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    number = fd.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, MovesAndReleases) {
  UniqueFd first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int number = first.get();
  UniqueFd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT: moved-from is empty by contract
  second = UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(is_open(number) && second.get() == number && false);
  const int released = second.release();
  EXPECT_TRUE(is_open(released));
  ::close(released);
}

TEST(Fd, ARealPathHasNoLinks) {
  EXPECT_EQ(real_path("/proc/self"), std::filesystem::canonical("/proc/self").string());
  EXPECT_FALSE(real_path("/proc/none"));
  EXPECT_EQ(errno, ENOENT);
}

TEST(Error, InvalidIsOfItsKind) {
  const Error wrong = invalid("no path");
  EXPECT_EQ(wrong.kind, Error::Kind::kInvalid);
  EXPECT_EQ(wrong.message, "no path");
}

TEST(Fd, WriteAllWaitsForRoom) {
  Pipe pipe = make_pipe().value();
  ASSERT_TRUE(set_nonblocking(pipe.write_end.get()).ok());
  const std::string data(1 << 20, 'x');
  std::jthread reader([&pipe] {
    char buffer[4096];
    std::size_t total = 0;
    while (total < (1 << 20)) {
      const ssize_t got = ::read(pipe.read_end.get(), buffer, sizeof buffer);
      if (got <= 0) return;
      total += static_cast<std::size_t>(got);
    }
  });
  EXPECT_TRUE(write_all(pipe.write_end.get(), data).ok());
}

TEST(Fd, WritingToAClosedSocketIsAnErrorNotASignal) {
  SocketPair pair = make_socket_pair(SOCK_STREAM).value();
  pair.theirs.reset();
  EXPECT_FALSE(write_all(pair.ours.get(), "x").ok());
}

TEST(Fd, ReadAllIsBounded) {
  const UniqueFd fd = make_memory_file("t", std::string(100, 'x')).value();
  EXPECT_EQ(read_all(fd.get(), 99).error().kind, Error::Kind::kLimit);
  ASSERT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  EXPECT_EQ(read_all(fd.get(), 100).value().size(), 100U);
}

TEST(Fd, ReadAtStopsAtTheEnd) {
  const UniqueFd fd = make_memory_file("t", "hello").value();
  EXPECT_EQ(read_at(fd.get(), 1, 3).value(), "ell");
  EXPECT_EQ(read_at(fd.get(), 4, 10).value(), "o");
  EXPECT_EQ(read_at(fd.get(), 9, 10).value(), "");
}

TEST(Fd, WaitForReportsTimeAsZero) {
  const Pipe pipe = make_pipe().value();
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for(pipe.read_end.get(), POLLIN, now).value(), 0);
  ASSERT_TRUE(write_all(pipe.write_end.get(), "x").ok());
  EXPECT_EQ(wait_for(pipe.read_end.get(), POLLIN, now + std::chrono::seconds(5)).value(), POLLIN);
}

TEST(Fd, MissingFilesAreNotFound) {
  EXPECT_EQ(open_file(AT_FDCWD, "/does/not/exist", O_RDONLY).error().kind, Error::Kind::kNotFound);
}

std::string output_of(SpawnOptions options) {
  Pipe pipe = make_pipe().value();
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  options.descriptors.insert(options.descriptors.begin(), {null.get(), pipe.write_end.get(), 2});
  const auto pid = spawn(options);
  EXPECT_TRUE(pid.ok());
  pipe.write_end.reset();
  std::string output = read_all(pipe.read_end.get(), 1 << 20).value();
  int status = 0;
  EXPECT_EQ(::waitpid(pid.value(), &status, 0), pid.value());
  return output;
}

TEST(Spawn, GivesExactlyTheDescriptorsAndEnvironment) {
  const UniqueFd leaked(::open("/dev/null", O_RDONLY));  // NOLINT: on purpose without O_CLOEXEC
  const UniqueFd given = make_memory_file("t", "given").value();
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c", "cat <&3; env | grep -v -e PWD -e _=; ls /proc/self/fd"};
  options.environment = {"ONLY=this"};
  options.descriptors = {given.get()};
  EXPECT_EQ(output_of(options), "givenONLY=this\n0\n1\n2\n3\n4\n");  // 4: ls reads the directory
}

TEST(Spawn, MissingProgramsAreAnError) {
  SpawnOptions options;
  options.arguments = {"/does/not/exist"};
  const auto pid = spawn(options);
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(pid.error().os_errno, ENOENT);
}

TEST(Spawn, OwnSession) {
  SpawnOptions options;
  options.arguments = {"/bin/sh", "-c",
                       "read -r pid c s ppid pgrp sid rest </proc/$$/stat; "
                       "[ $pid = $sid ] && echo leader || echo member"};
  options.own_session = true;
  EXPECT_EQ(output_of(options), "leader\n");
  options.own_session = false;
  EXPECT_EQ(output_of(options), "member\n");
}

TEST(UnixSocket, DescriptorsCross) {
  const SocketPair pair = make_socket_pair(SOCK_STREAM).value();
  const UniqueFd file = make_memory_file("t", "content").value();
  ASSERT_TRUE(send_descriptor(pair.ours.get(), file.get()).ok());
  const UniqueFd received = receive_descriptor(pair.theirs.get()).value();
  EXPECT_EQ(read_at(received.get(), 0, 100).value(), "content");
  EXPECT_NE(::fcntl(received.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(UnixSocket, SurplusDescriptorsAreClosed) {
  const SocketPair pair = make_socket_pair(SOCK_SEQPACKET).value();
  const UniqueFd file = make_memory_file("t", "x").value();
  const int three[] = {file.get(), file.get(), file.get()};
  ASSERT_TRUE(send_packet(pair.ours.get(), "p", three, 3).ok());
  const int next_free = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)).get();
  const Packet packet = receive_packet(pair.theirs.get(), 10).value();
  EXPECT_TRUE(packet.fd.valid());
  EXPECT_EQ(packet.fd.get(), next_free);
  EXPECT_FALSE(is_open(next_free + 1));
}

TEST(UnixSocket, LongDirectoriesWork) {
  std::string top = ::testing::TempDir() + "hutch_long_XXXXXX";
  ASSERT_NE(::mkdtemp(top.data()), nullptr);
  const std::string path = top + "/" + std::string(200, 'd');
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  const UniqueFd directory = open_file(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();
  const auto listening = listen_at(directory.get(), "s.sock");
  ASSERT_TRUE(listening.ok()) << listening.error().message;
  EXPECT_TRUE(connect_to(directory.get(), "s.sock", std::chrono::seconds(5)).ok());
  EXPECT_EQ(connect_to(directory.get(), "none", std::chrono::seconds(5)).error().kind,
            Error::Kind::kNotFound);
  EXPECT_TRUE(listen_at(directory.get(), "s.sock").ok()) << "a stale socket is replaced";
  std::filesystem::remove_all(top);
}

TEST(Clock, Rfc3339RoundTrip) {
  EXPECT_EQ(to_rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(from_rfc3339("2026-01-31T12:00:00.250Z"), from_rfc3339("2026-01-31T14:00:00.25+02:00"));
  const auto now = now_ms();
  EXPECT_EQ(from_rfc3339(to_rfc3339(now)), now);
}

TEST(Clock, OnlyRfc3339) {
  for (const char* text : {"", "yesterday", "2026-01-31", "2026-01-31T12:00:00", "1",
                           "2026-01-31T12:00:00Zx", "2026-01-31T12:00:00.Z"}) {
    EXPECT_FALSE(from_rfc3339(text)) << text;
  }
}

TEST(Result, ContextGoesInFront) {
  errno = EACCES;
  const Error failure = Error::from_errno("mount /proc").context("start box");
  EXPECT_EQ(failure.message, "start box: mount /proc: Permission denied");
  EXPECT_EQ(failure.os_errno, EACCES);
}

TEST(TextOfFile, IsEmptyWhereNothingCanBeRead) {
  EXPECT_EQ(base::text_of_file("/proc/self/comm"), "unit_tests\n");
  EXPECT_EQ(base::text_of_file("/proc/self/no such file"), "");
  EXPECT_EQ(base::text_of_file("/proc"), "") << "a directory opens, and read(2) fails";
}

}  // namespace
