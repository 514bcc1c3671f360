// Which interpreters a session has, and what is lost or kept with them.
#include "sandbox/box/interpreters.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "sandbox/box/state_directory.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/sandbox/fake_init.h"

namespace {

using base::Error;
using sandbox::Language;
using sandbox::box::EventLoop;
using sandbox::box::Interpreters;
using sandbox::box::Job;
using sandbox::box::KeptState;
using sandbox::box::Worker;

class InterpretersTest : public ::testing::Test {
 protected:
  InterpretersTest() { kept_ = KeptState::open(*loop_, directory_, "python", {}).value(); }
  std::unique_ptr<Worker> start() {
    Worker::Start start;
    start.profile.program = {"/bin/sh"};
    start.root_fd = init_.root().fd();
    return Worker::start(*loop_, init_.process(), start,
                         {[](const auto&, const auto&) {}, [](const std::string&) {}})
        .value();
  }
  static sandbox::RunRequest in_context(Language language, const std::string& context) {
    sandbox::RunRequest request;
    request.language = language;
    request.context = context;
    return request;
  }
  // Returns why a run cannot have a context, or nothing.
  static std::optional<Error::Kind> refusal(const Interpreters& interpreters,
                                            const sandbox::RunRequest& request) {
    const base::Status status = interpreters.check_context(request);
    return status.ok() ? std::nullopt : std::optional(status.error().kind);
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  FakeInit init_{*loop_};
  const TemporaryDirectory session_;
  sandbox::box::StateDirectory directory_ =
      sandbox::box::StateDirectory::open(session_.fd()).value();
  std::unique_ptr<KeptState> kept_;
  std::map<Language, KeptState*> kept_states_;
  Interpreters interpreters_{kept_states_};
};

TEST_F(InterpretersTest, TypeScriptAndJavaScriptShareOne) {
  sandbox::Run run;
  run.language = Language::kTypeScript;
  run.context = "mine";
  EXPECT_EQ(Interpreters::key_of(run), (Interpreters::Key{Language::kJavaScript, "mine"}));
}

TEST_F(InterpretersTest, OnlySomeLanguagesHaveContexts) {
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kBash, "")), std::nullopt);
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kBash, "a")), Error::Kind::kUnsupported);
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kSql, "a")), Error::Kind::kUnsupported);
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kTypeScript, "a")), std::nullopt);
  interpreters_.slot({Language::kPython, "a"}).directory = "/workspace/a";
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kPython, "a")), std::nullopt);
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kTypeScript, "a")), Error::Kind::kInvalid);
  ASSERT_TRUE(interpreters_.contexts().contains("a"));
  EXPECT_EQ(interpreters_.contexts().at("a").directory, "/workspace/a");
}

TEST_F(InterpretersTest, ContextsAreBounded) {
  for (std::size_t i = 0; i < sandbox::kContextsMax; ++i) {
    const auto request = in_context(Language::kPython, "c" + std::to_string(i));
    EXPECT_EQ(refusal(interpreters_, request), std::nullopt);
    interpreters_.slot({Language::kPython, request.context});
  }
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kPython, "c0")), std::nullopt);
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kPython, "one")), Error::Kind::kLimit);
}

TEST_F(InterpretersTest, AContextThatWasEndedGoesOnceItHasNoRun) {
  interpreters_.slot({Language::kPython, ""});
  EXPECT_EQ(interpreters_.find_context(""), nullptr) << "the shared ones are no context";
  interpreters_.slot({Language::kPython, "a"}).worker = start();
  Interpreters::Slot* const slot = interpreters_.find_context("a");
  ASSERT_NE(slot, nullptr);
  slot->is_over = true;
  slot->current = std::make_shared<Job>();
  EXPECT_EQ(interpreters_.find_context("a"), nullptr);
  EXPECT_TRUE(interpreters_.contexts().empty());
  EXPECT_EQ(refusal(interpreters_, in_context(Language::kPython, "a")), Error::Kind::kConflict);
  EXPECT_TRUE(interpreters_.take_ended_contexts().empty());
  slot->current.reset();
  EXPECT_EQ(interpreters_.take_ended_contexts().size(), 1U);
  EXPECT_EQ(interpreters_.find({Language::kPython, "a"}), nullptr);
  EXPECT_NE(interpreters_.find({Language::kPython, ""}), nullptr);
}

TEST_F(InterpretersTest, ProcessesAreThoseThatAreThere) {
  interpreters_.slot({Language::kBash, ""});
  EXPECT_EQ(interpreters_.processes(), 0U);
  interpreters_.slot({Language::kPython, ""}).worker = start();
  interpreters_.slot({Language::kPython, "a"}).worker = start();
  EXPECT_EQ(interpreters_.processes(), 2U);
  EXPECT_EQ(interpreters_.pids(), (std::set<pid_t>{FakeInit::kFirstPid, FakeInit::kFirstPid + 1}));
}

TEST_F(InterpretersTest, OnlyTheSharedOneOfALanguageHasItsStateStored) {
  EXPECT_EQ(interpreters_.kept_state_of({Language::kPython, ""}), nullptr);
  kept_states_[Language::kPython] = kept_.get();
  EXPECT_EQ(interpreters_.kept_state_of({Language::kPython, ""}), kept_.get());
  EXPECT_EQ(interpreters_.kept_state_of({Language::kPython, "a"}), nullptr);
  EXPECT_EQ(interpreters_.kept_state_of({Language::kJavaScript, ""}), nullptr);
  Job job;
  EXPECT_EQ(interpreters_.kept_state_of(job), kept_.get());
  job.own_worker = start();
  EXPECT_EQ(interpreters_.kept_state_of(job), nullptr);
  EXPECT_FALSE(interpreters_.has_state_of({Language::kPython, ""})) << "nothing was stored yet";
  EXPECT_EQ(interpreters_.fate_of_all(), "variables lost");
  EXPECT_EQ(interpreters_.count_to_tell_waking(Language::kJavaScript), 1U);
}

TEST_F(InterpretersTest, TheNextRunOfEachHearsWhatIsLost) {
  interpreters_.slot({Language::kPython, ""}).worker = start();
  interpreters_.slot({Language::kSql, ""});
  EXPECT_EQ(interpreters_.what_is_not_stored(), "");
  interpreters_.lose_all("ended");
  EXPECT_EQ(interpreters_.slot({Language::kPython, ""}).loss,
            "the interpreter of python was ended: its variables are lost, files kept");
  EXPECT_EQ(interpreters_.slot({Language::kSql, ""}).loss, "") << "it had no process";
  EXPECT_EQ(interpreters_.what_is_not_stored(), Interpreters::kUnheard);
}

TEST_F(InterpretersTest, WhatNothingStoresIsNamed) {
  Interpreters::Slot& sql = interpreters_.slot({Language::kSql, ""});
  sql.worker = start();
  sql.holds_state = true;
  EXPECT_EQ(interpreters_.what_is_not_stored(), "") << "it has had no run";
  sql.execution_count = 1;
  EXPECT_EQ(interpreters_.what_is_not_stored(),
            "sql has something that is not stored, as temporary tables");
  sql.holds_state = false;
  EXPECT_EQ(interpreters_.what_is_not_stored(), "");
}

TEST_F(InterpretersTest, WhatOthersHoldIsTold) {
  Job job;
  interpreters_.slot({Language::kPython, ""}).worker = start();
  job.worker = interpreters_.slot({Language::kPython, ""}).worker.get();
  interpreters_.slot({Language::kPython, "a"}).worker = start();
  interpreters_.slot({Language::kBash, ""});
  EXPECT_EQ(interpreters_.kept_elsewhere(job), "");
  interpreters_.slot({Language::kJavaScript, ""}).worker = start();
  interpreters_.slot({Language::kSql, ""}).execution_count = 1;  // its process has ended
  EXPECT_EQ(interpreters_.kept_elsewhere(job),
            ", variables of JavaScript kept, tables of SQL kept");
}

TEST_F(InterpretersTest, WhatRunsIsNotStored) {
  const auto held_by = [this] {
    std::optional<std::string> heard;
    interpreters_.store(1 << 20, [&heard](const std::string& what) { heard = what; });
    return heard;
  };
  EXPECT_EQ(held_by(), "");
  kept_states_[Language::kPython] = kept_.get();
  Interpreters::Slot& python = interpreters_.slot({Language::kPython, ""});
  python.worker = start();
  EXPECT_EQ(held_by(), "") << "it has had no run";
  python.execution_count = 1;
  python.current = std::make_shared<Job>();
  python.current->run.run_id = "run_1";
  EXPECT_EQ(held_by(), "a run was not over (run_1)");
}

}  // namespace
