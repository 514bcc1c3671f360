// Which interpreters start before a run asks for them, and which of them end again.
#include "sandbox/box/starts_ahead.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace {

using sandbox::Language;
using sandbox::box::EventLoop;
using sandbox::box::StartsAhead;
using std::chrono::milliseconds;

class StartsAheadTest : public ::testing::Test {
 protected:
  StartsAhead::Of of() {
    return {.loop = *loop_,
            .languages = languages_,
            .start = [this](Language language) { told_ += std::string("+") + name_of(language); },
            .end = [this](Language language) { told_ += std::string("-") + name_of(language); },
            .pause = milliseconds(20),
            .unused_most = milliseconds(20)};
  }
  // Lets the loop work for longer than both times take.
  void turn() {
    bool over = false;
    loop_->after(milliseconds(100), [&over] { over = true; });
    while (!over) ASSERT_TRUE(loop_->turn().ok());
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  std::vector<Language> languages_ = {Language::kTypeScript, Language::kBash, Language::kPython};
  std::string told_;
};

TEST_F(StartsAheadTest, PythonStartsAtOnceAndOthersInAMoment) {
  StartsAhead ahead(of());
  ahead.start();
  EXPECT_EQ(told_, "+python");
  turn();
  EXPECT_EQ(told_, "+python+typescript+bash");
}

TEST_F(StartsAheadTest, WhatNoRunHasUsedEndsOnceSomebodyHasTheSession) {
  StartsAhead ahead(of());
  ahead.start();
  turn();
  told_.clear();
  turn();
  EXPECT_EQ(told_, "") << "a session that is nobody's keeps them";
  ahead.is_used(Language::kBash);
  ahead.end_unused_soon();
  ahead.end_unused_soon();
  EXPECT_EQ(told_, "");
  turn();
  EXPECT_EQ(told_, "-javascript") << "Python stays, and what a run has used";
}

TEST_F(StartsAheadTest, NothingMoreStartsForASessionThatSomebodyHas) {
  StartsAhead ahead(of());
  ahead.start();
  ahead.end_unused_soon();
  turn();
  EXPECT_EQ(told_, "+python");
}

}  // namespace
