// Which failures of a start are a limit of the machine, and what is said of them.
#include "sandbox/host_capacity.h"

#include <gtest/gtest.h>

#include <cerrno>

#include <nlohmann/json.hpp>

#include "sandbox/wire/box_protocol.h"

namespace {

using base::Error;
using sandbox::as_capacity;

Error failed_with(int os_errno) {
  errno = os_errno;
  return Error::from_errno("clone").context("start the box");
}

TEST(HostCapacity, IsWhatPassesAndNothingElse) {
  constexpr int kNoRoomForPrograms = 524;
  for (const int os_errno : {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOBUFS, EUSERS, kNoRoomForPrograms}) {
    EXPECT_EQ(as_capacity(failed_with(os_errno)).kind, Error::Kind::kCapacity) << os_errno;
  }
  for (const int os_errno : {EPERM, EACCES, ENOSYS, EINVAL, ENOENT, ENOSPC, EIO, 0}) {
    EXPECT_EQ(as_capacity(failed_with(os_errno)).kind, Error::Kind::kInternal) << os_errno;
  }
}

TEST(HostCapacity, IsDescribedOnce) {
  const Error described = sandbox::with_capacity_described(failed_with(EMFILE));
  EXPECT_EQ(described.kind, Error::Kind::kCapacity);
  EXPECT_NE(described.message.find("(start the box: clone: "), std::string::npos)
      << described.message;
  EXPECT_EQ(sandbox::with_capacity_described(described).message, described.message);
  EXPECT_EQ(sandbox::with_capacity_described(failed_with(ENOENT)).message,
            failed_with(ENOENT).message);
}

TEST(HostCapacity, StaysOneOnItsWayFromTheBox) {
  const auto received =
      sandbox::wire::check_reply(sandbox::wire::error_reply(as_capacity(failed_with(EAGAIN))));
  ASSERT_FALSE(received.ok());
  EXPECT_EQ(received.error().kind, Error::Kind::kCapacity);
  const Error told = sandbox::describe_capacity(received.error());
  EXPECT_EQ(told.kind, Error::Kind::kCapacity);
  EXPECT_NE(told.message.find("start the box: clone"), std::string::npos) << told.message;
  EXPECT_NE(told.message.find("try again in 5 seconds"), std::string::npos) << told.message;
}

}  // namespace
