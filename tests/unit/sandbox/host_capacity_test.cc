// Which failures of a start are a limit of the machine, and what is said of them.
#include "sandbox/host_capacity.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/init_process.h"
#include "sandbox/box_launch.h"
#include "sandbox/sandbox.h"
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

// A shell script in the place of hutch-box, or of hutch-init.
class StartOfABox : public ::testing::Test {
 protected:
  StartOfABox() {
    std::string name = ::testing::TempDir() + "hutch_start_XXXXXX";
    directory_ = ::mkdtemp(name.data());
    for (const char* part : {"/bin", "/sessions", "/zygote", "/sessions/session_1"}) {
      std::filesystem::create_directory(directory_ + part);
    }
    spec_.session_id = "session_1";
    spec_.session_directory = directory_ + "/sessions/session_1";
    spec_.program_directory = directory_ + "/bin";
  }
  ~StartOfABox() override { std::filesystem::remove_all(directory_); }

  // It notes each of its starts.
  std::string program(const std::string& name, const std::string& script) {
    const std::string path = directory_ + "/bin/" + name;
    std::ofstream(path) << "#!/bin/sh\necho >> " << directory_ << "/starts\n" << script << "\n";
    EXPECT_EQ(::chmod(path.c_str(), 0700), 0);
    return path;
  }
  std::ptrdiff_t starts() {
    std::ifstream file(directory_ + "/starts");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  }
  base::Status launched(const std::string& script,
                        std::chrono::milliseconds patience = std::chrono::seconds(60)) {
    (void)program("hutch-box", script);
    const auto lock = sandbox::SessionLock::take(spec_.session_directory);
    return sandbox::launch_box(spec_, lock.value(), patience);
  }
  Error why_no_init(const std::string& script, std::chrono::milliseconds patience) {
    const auto loop = sandbox::box::EventLoop::create().value();
    sandbox::box::InitProcess::Recipe recipe;
    recipe.program = program("hutch-init", script);
    recipe.make_mounts = [] {
      return base::Result<std::vector<base::UniqueFd>>(std::vector<base::UniqueFd>());
    };
    recipe.patience = patience;
    auto started = sandbox::box::InitProcess::start(*loop, recipe, {});
    EXPECT_FALSE(started.ok());
    return started.ok() ? Error() : std::move(started).error();
  }

  std::string directory_;
  sandbox::BoxSpec spec_;
};

TEST_F(StartOfABox, ThatIsKilledOrFindsNoMemoryMeetsALimitOfTheMachine) {
  for (const char* script : {"kill -9 $$", "echo std::bad_alloc >&2; exit 134",
                             "echo 'error while loading shared libraries: failed to map segment "
                             "from shared object: Cannot allocate memory' >&2; exit 127"}) {
    const auto failed = launched(script);
    ASSERT_FALSE(failed.ok()) << script;
    EXPECT_EQ(failed.error().kind, Error::Kind::kCapacity) << script;
  }
  // Its words from before are another's.
  EXPECT_EQ(launched("exit 1").error().kind, Error::Kind::kInternal);
  EXPECT_EQ(launched("kill -SEGV $$").error().kind, Error::Kind::kInternal);
  EXPECT_EQ(
      launched(
          "echo 'failed to map segment from shared object: Operation not permitted' >&2; exit 127")
          .error()
          .kind,
      Error::Kind::kInternal);
  EXPECT_EQ(launched("echo no such file >&2; exit 1").error().kind, Error::Kind::kInternal);
  EXPECT_TRUE(launched(R"(echo '{"ok":true}' >&4)").ok());
}

TEST_F(StartOfABox, ThatDoesNotAnswerIsEnded) {
  const auto failed =
      launched("echo $$ > " + directory_ + "/pid; exec sleep 600", std::chrono::milliseconds(500));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().kind, Error::Kind::kCapacity);
  pid_t pid = 0;
  std::ifstream(directory_ + "/pid") >> pid;
  // Without it, the shell had not come so far.
  const pid_t ended = pid > 0 ? ::waitpid(pid, nullptr, 0) : 0;
  EXPECT_EQ(ended, pid) << "it does not live on";
}

TEST_F(StartOfABox, IsTriedAgainForThreeSecondsAndNoLonger) {
  (void)program("hutch-box", "kill -9 $$");
  sandbox::SandboxConfig config;
  config.sessions_directory = directory_ + "/sessions";
  config.zygote_directory = directory_ + "/zygote";
  config.program_directory = spec_.program_directory;
  config.zygote = sandbox::SandboxConfig::Zygote::kOff;
  const auto sandbox = sandbox::make_sandbox(config);
  const auto lock = sandbox::SessionLock::take(spec_.session_directory);
  const auto began = std::chrono::steady_clock::now();
  const auto started = sandbox->start(spec_, lock.value());
  const auto took = std::chrono::steady_clock::now() - began;
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, Error::Kind::kCapacity);
  EXPECT_NE(started.error().message.find("try again in 5 seconds"), std::string::npos)
      << started.error().message;
  // Pauses of 0.1, 0.2, 0.4 and then 0.8 s: none begins whose end is beyond the bound.
  EXPECT_GE(took, std::chrono::milliseconds(2200));
  EXPECT_GE(starts(), 2);
  EXPECT_LE(starts(), 6);
}

TEST_F(StartOfABox, WhoseInitIsKilledOrDoesNotAnswerMeetsALimitOfTheMachine) {
  const std::chrono::seconds long_patience(60);
  EXPECT_EQ(why_no_init("kill -9 $$", long_patience).kind, Error::Kind::kCapacity);
  EXPECT_NE(why_no_init("exit 1", long_patience).kind, Error::Kind::kCapacity);
  EXPECT_EQ(why_no_init("exec sleep 600", std::chrono::milliseconds(500)).kind,
            Error::Kind::kCapacity);
}

TEST(HostCapacity, HowAChildHasEndedIsKnownToWhoHasItsPidfd) {
  const auto killed_by = [](int number) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    const base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    EXPECT_FALSE(sandbox::was_killed(pidfd.get())) << "it lives";
    EXPECT_EQ(::kill(pid, number), 0);
    siginfo_t ended{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
    const auto killed = sandbox::was_killed(pidfd.get());
    EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
    return killed;
  };
  EXPECT_EQ(killed_by(SIGKILL), true);
  EXPECT_EQ(killed_by(SIGTERM), false);
}

}  // namespace
