// Who has a session's token is let in to that session, and to nothing else.
#include "sessions/session_tokens.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "sessions/session_table.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

class SessionTokensTest : public testing::StoreFixture {
 protected:
  SessionTokens tokens_{directory_, store_->sessions, store_->session_lists};
  std::int64_t now_s_ = base::now_ms() / 1000;
};

TEST_F(SessionTokensTest, ATokenOpensItsSessionAlone) {
  const Session one = created();
  const Session other = created();
  const std::string token = tokens_.token_of(one.id).value();
  EXPECT_EQ(tokens_.session_by(one.id, token).value().id, one.id);
  EXPECT_EQ(tokens_.session_by(other.id, token).error().kind, base::Error::Kind::kNotFound);
  EXPECT_EQ(tokens_.session_by(one.id, "").error().kind, base::Error::Kind::kNotFound);
  EXPECT_TRUE(tokens_.is_token_of(one.id, token));
  EXPECT_FALSE(tokens_.is_token_of(one.id, token + "0"));
  const auto newest = tokens_.newest(10).value();
  ASSERT_EQ(newest.size(), 2U);
  EXPECT_EQ(newest[0].token, tokens_.token_of(newest[0].session_id).value());
}

TEST_F(SessionTokensTest, AnotherServerOfTheDirectoryGivesTheSame) {
  const SessionTokens others(directory_, store_->sessions, store_->session_lists);
  EXPECT_EQ(others.token_of("session_x").value(), tokens_.token_of("session_x").value());
}

TEST_F(SessionTokensTest, ATokenOfAPortIsForThatPortUntilItsTime) {
  const Session one = created();
  const std::string token = tokens_.port_token_of(one.id, 3000, now_s_ + 60).value();
  EXPECT_EQ(tokens_.session_by_port(one.id, 3000, token).value().id, one.id);
  EXPECT_FALSE(tokens_.session_by_port(one.id, 3001, token).ok());
  EXPECT_FALSE(tokens_.session_by_port(one.id, 3000, "9" + token).ok()) << "a later time";
  EXPECT_FALSE(tokens_.session_by_port(one.id, 3000, "").ok());
  const std::string over = tokens_.port_token_of(one.id, 3000, now_s_ - 1).value();
  EXPECT_FALSE(tokens_.session_by_port(one.id, 3000, over).ok());
}

TEST_F(SessionTokensTest, AnEndedSessionIsOpenedByNothing) {
  const Session one = created();
  const std::string token = tokens_.token_of(one.id).value();
  ASSERT_TRUE(store_->sessions.set_status(one.id, SessionStatus::kDestroyed, "").ok());
  EXPECT_FALSE(tokens_.session_by(one.id, token).ok());
}

}  // namespace
}  // namespace sessions
