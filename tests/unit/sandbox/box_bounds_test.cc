// Tests what code may make hutch-box hold or do: it is in no limit of the session.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "sandbox/box/event_loop.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/left_streams.h"
#include "sandbox/box/runner_channel.h"
#include "sandbox/wire/frame.h"
#include "tests/support/temporary_directory.h"

namespace {

using namespace sandbox::box;
using nlohmann::json;
namespace fs = std::filesystem;

TEST(FileChanges, DirectoriesCountAsWell) {
  const TemporaryDirectory folder;
  FileChanges changes(folder.fd(), 10);
  for (int i = 0; i < 10; ++i) fs::create_directory(folder.path() + "/" + std::to_string(i));
  EXPECT_TRUE(changes.take_snapshot()->whole);
  for (int i = 10; i < 30; ++i) fs::create_directory(folder.path() + "/" + std::to_string(i));
  EXPECT_FALSE(changes.take_snapshot()->whole);
}

bool is_read(const base::Pipe& pipe) {
  pollfd writer{pipe.write_end.get(), 0, 0};
  return ::poll(&writer, 1, 0) >= 0 && (writer.revents & POLLERR) == 0;
}

TEST(LeftStreams, TheOldestGivesWay) {
  const auto loop = EventLoop::create().value();
  LeftStreams streams(2);
  std::vector<base::Pipe> pipes;
  for (int i = 0; i < 3; ++i) {
    pipes.push_back(base::make_pipe().value());
    const auto reader =
        StreamReader::start(*loop, std::move(pipes.back().read_end), StreamReader::Runs::kOne)
            .value();
    reader->set_target(nullptr, {});
    streams.add(*reader);
  }
  EXPECT_FALSE(is_read(pipes[0]));
  EXPECT_TRUE(is_read(pipes[1]));
  EXPECT_TRUE(is_read(pipes[2]));
}

// A runner that sends what the test wants, from a thread of its own.
struct Runner {
  Runner(EventLoop& loop, std::string bytes) {
    RunnerChannel::Events events;
    events.message = [this](const json& message, const std::string&) {
      messages.push_back(message);
    };
    events.broken = [this](const std::string& reason) { why = reason; };
    events.ended = [] {};
    channel = RunnerChannel::open(loop, std::move(events), ends).value();
    sender = std::jthread([this, sent = std::move(bytes)] {
      (void)base::write_all(ends.writes.get(), sent).ok();
      is_done = true;
    });
  }

  RunnerChannel::Ends ends;
  std::vector<json> messages;
  std::string why;
  std::unique_ptr<RunnerChannel> channel;
  std::atomic<bool> is_done = false;
  std::jthread sender;
};

// The loop can be run once.
void run_until(EventLoop& loop, const std::function<bool()>& is_so) {
  std::function<void()> look = [&] {
    if (is_so()) return loop.stop();
    loop.after(std::chrono::milliseconds(5), look);
  };
  look();
  ASSERT_TRUE(loop.run().ok());
}

TEST(RunnerChannel, WhatRunnersLeaveUnfinishedIsBoundedTogether) {
  (void)::signal(SIGPIPE, SIG_IGN);  // their channel may be closed
  const auto loop = EventLoop::create().value();
  const std::string almost =
      sandbox::wire::encode_frame('B', std::string(kRunnerFrameBytesMax, 'x'))
          .substr(0, kRunnerFrameBytesMax);
  std::vector<std::unique_ptr<Runner>> runners;
  for (int i = 0; i < 6; ++i) runners.push_back(std::make_unique<Runner>(*loop, almost));
  run_until(*loop, [&] {
    return std::ranges::all_of(runners, [](const auto& one) { return one->is_done.load(); });
  });
  const auto broken =
      std::ranges::count_if(runners, [](const auto& one) { return !one->why.empty(); });
  EXPECT_EQ(broken, 2) << "four hold 80 MiB of the 96";
}

TEST(RunnerChannel, KnowsWhenARunWasNotRead) {
  const auto loop = EventLoop::create().value();
  Runner runner(*loop, "");
  runner.channel->send(json::object());
  EXPECT_FALSE(runner.channel->has_unsent()) << "it is in the pipe";
  runner.channel->send({{"code", std::string(1U << 20, 'x')}});
  EXPECT_TRUE(runner.channel->has_unsent());
}

TEST(RunnerChannel, TakesNothingThatAReplyOfItsBoxCouldNotHold) {
  const auto loop = EventLoop::create().value();
  const auto nested = [](int depth) {
    return sandbox::wire::encode_frame(
        'J', R"({"a":)" + std::string(static_cast<std::size_t>(depth), '[') +
                 std::string(static_cast<std::size_t>(depth), ']') + "}");
  };
  Runner good(*loop, nested(59));
  Runner bad(*loop, nested(61));
  run_until(*loop, [&] { return !good.messages.empty() && !bad.why.empty(); });
  EXPECT_NE(bad.why.find("deep"), std::string::npos) << bad.why;
}

}  // namespace
