// Following a run: what it prints comes once and in order, and each way to end is told.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "sessions/follow.h"
#include "sessions/runs.h"
#include "sessions/session_directory.h"
#include "tests/unit/sessions/services_fixture.h"

namespace sessions {
namespace {

using base::Error;
using sandbox::RunStatus;
using sandbox::WaitOptions;
using std::chrono::milliseconds;
using End = Followed::End;

class FollowTest : public testing::ServicesFixture {
 protected:
  // Tells what the box says at each look; the last one is repeated.
  using Look = std::function<void(sandbox::Run& told)>;

  FollowTest() {
    options_.look_every = milliseconds(1);
    options_.printed = [this](const char* stream, const std::string& bytes) {
      printed_.push_back(std::string(stream) + ":" + bytes);
      return true;
    };
  }

  base::Result<Followed> follow_through(std::vector<Look> looks) {
    const Session session = kept();
    bool begun = false;
    std::size_t next = 0;
    sandbox_.hook_boxes({.tell_run = [&](const WaitOptions& wait, sandbox::Run& told) {
      if (!begun) return;
      waits_.push_back(wait);
      looks[std::min(next++, looks.size() - 1)](told);
    }});
    sandbox::RunRequest request;
    request.code = sandbox::fake::kEndless;
    state_ = parts().runs.start(session, request).value();
    std::filesystem::create_directories(stream_of("").substr(0, stream_of("").size() - 1));
    begun = true;
    return follow(parts().runs, parts().run_files, principal_, state_, options_);
  }
  std::string stream_of(const std::string& name) {
    return SessionDirectory(directory_, state_.session_id).run(state_.run.run_id) + "/" + name;
  }
  // Says that the stream has these bytes more.
  void add(sandbox::Run& told, const std::string& name, const std::string& bytes) {
    std::ofstream(stream_of(name), std::ios::app) << bytes;
    told.stdout_bytes = size_of("stdout");
    told.stderr_bytes = size_of("stderr");
  }

  FollowOptions options_;
  RunState state_;
  std::vector<std::string> printed_;
  std::vector<WaitOptions> waits_;

 private:
  std::int64_t size_of(const std::string& name) {
    std::error_code none;
    const auto size = std::filesystem::file_size(stream_of(name), none);
    return none ? 0 : static_cast<std::int64_t>(size);
  }
};

void end(sandbox::Run& told) { told.status = RunStatus::kCompleted; }

TEST_F(FollowTest, OutputComesOnceAndInOrder) {
  options_.wakes = true;
  const auto followed = follow_through({[&](sandbox::Run& told) { add(told, "stdout", "abc"); },
                                        [&](sandbox::Run& told) {
                                          add(told, "stdout", "de");
                                          add(told, "stderr", "!");
                                        },
                                        [&](sandbox::Run& told) {
                                          add(told, "stderr", "?");
                                          end(told);
                                        }});
  EXPECT_EQ(followed.value().end, End::kEnded);
  EXPECT_EQ(followed.value().state.run.status, RunStatus::kCompleted);
  EXPECT_EQ(printed_,
            (std::vector<std::string>{"stdout:abc", "stdout:de", "stderr:!", "stderr:?"}));
  ASSERT_EQ(waits_.size(), 3U);
  EXPECT_TRUE(waits_[0].until_output && waits_[0].wakes);
  EXPECT_FALSE(waits_[1].wakes) << "who pauses it meanwhile means it";
  EXPECT_EQ(waits_[2].stdout_offset, 5);
  EXPECT_EQ(waits_[2].stderr_offset, 1);
}

TEST_F(FollowTest, MuchComesInPieces) {
  options_.piece_bytes = 4;
  ASSERT_TRUE(follow_through({[&](sandbox::Run& told) {
                add(told, "stdout", "0123456789");
                end(told);
              }}).ok());
  EXPECT_EQ(printed_, (std::vector<std::string>{"stdout:0123", "stdout:4567", "stdout:89"}));
}

TEST_F(FollowTest, OutputThatNobodyFollowsIsNotWaitedFor) {
  options_.printed = nullptr;
  EXPECT_EQ(follow_through({[&](sandbox::Run& told) {
              add(told, "stdout", "abc");
              end(told);
            }})
                .value()
                .end,
            End::kEnded);
  EXPECT_FALSE(waits_.at(0).until_output);
}

TEST_F(FollowTest, WhoeverPrintsMayHaveEnough) {
  options_.piece_bytes = 1;
  options_.printed = [this](const char*, const std::string& bytes) {
    printed_.push_back(bytes);
    return printed_.size() < 2;
  };
  const auto followed =
      follow_through({[&](sandbox::Run& told) { add(told, "stdout", "abcdef"); }});
  EXPECT_EQ(followed.value().end, End::kUnwanted);
  EXPECT_EQ(printed_, (std::vector<std::string>{"a", "b"}));
}

TEST_F(FollowTest, ALookWithNothingToPrintIsHeard) {
  std::vector<std::size_t> heard_at;
  options_.looked = [&](const RunState&) {
    heard_at.push_back(waits_.size());
    return heard_at.size() < 2;
  };
  const auto followed =
      follow_through({[](sandbox::Run&) {}, [&](sandbox::Run& told) { add(told, "stdout", "a"); },
                      [](sandbox::Run& told) { told.stdout_bytes = 1; }});
  EXPECT_EQ(followed.value().end, End::kUnwanted);
  EXPECT_EQ(heard_at, (std::vector<std::size_t>{1, 3})) << "neither before a look nor with output";
}

TEST_F(FollowTest, TimeEndsIt) {
  options_.until = std::chrono::steady_clock::now() + milliseconds(1);
  const auto followed = follow_through({[](sandbox::Run&) {}});
  EXPECT_EQ(followed.value().end, End::kTimeIsUp);
  EXPECT_EQ(followed.value().state.run.status, RunStatus::kRunning);
}

TEST_F(FollowTest, WhoGoesAndWhoStopsAreToldApart) {
  for (const End end : {End::kGone, End::kDraining}) {
    std::stop_source stop;
    (end == End::kGone ? options_.gone : options_.draining) = stop.get_token();
    EXPECT_EQ(follow_through({[&](sandbox::Run&) { stop.request_stop(); }}).value().end, end);
    options_.gone = options_.draining = {};
  }
}

TEST_F(FollowTest, AnEndCountsThatComesWithTheirs) {
  std::stop_source stop;
  options_.gone = options_.draining = stop.get_token();
  const auto followed = follow_through({[&](sandbox::Run& told) {
    stop.request_stop();
    end(told);
  }});
  EXPECT_EQ(followed.value().end, End::kEnded);
}

TEST_F(FollowTest, ARunThatIsNotThereIsAnError) {
  RunState unknown;
  unknown.session_id = kept().id;
  unknown.run.run_id = "run_0123456789ab";
  EXPECT_EQ(follow(parts().runs, parts().run_files, principal_, unknown, options_).error().kind,
            Error::Kind::kNotFound);
}

}  // namespace
}  // namespace sessions
