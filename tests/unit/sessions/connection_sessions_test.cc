// Connections have a default session each, and own what ends with them.
#include "sessions/connection_sessions.h"

#include <gtest/gtest.h>

namespace sessions {
namespace {

using Ids = std::vector<std::string>;

TEST(ConnectionSessions, PrincipalsDoNotShareAConnectionOfTheSameName) {
  ConnectionSessions sessions;
  sessions.set_default({"one", "c"}, "session_1");
  EXPECT_EQ(sessions.default_of({"one", "c"}), "session_1");
  EXPECT_EQ(sessions.default_of({"two", "c"}), "");
  EXPECT_EQ(sessions.default_of({"one", "d"}), "");
}

TEST(ConnectionSessions, EachDefaultSessionIsIntroducedOnce) {
  ConnectionSessions sessions;
  EXPECT_FALSE(sessions.take_introduction({"one", "c"}));
  sessions.set_default({"one", "c"}, "session_1");
  EXPECT_EQ(sessions.take_introduction({"one", "c"}), "session_1");
  EXPECT_FALSE(sessions.take_introduction({"one", "c"}));
  sessions.set_default({"one", "c"}, "session_2");
  EXPECT_EQ(sessions.take_introduction({"one", "c"}), "session_2");
}

TEST(ConnectionSessions, TheEndOfAConnectionGivesBackWhatItOwned) {
  ConnectionSessions sessions;
  sessions.set_default({"one", "c"}, "session_1");
  for (const char* id : {"session_1", "session_2", "session_3"}) sessions.add_owned("c", id);
  sessions.add_owned("d", "session_4");
  sessions.forget("session_2");
  EXPECT_EQ(sessions.end("c"), (Ids{"session_1", "session_3"}));
  EXPECT_EQ(sessions.default_of({"one", "c"}), "");
  EXPECT_EQ(sessions.end("c"), Ids());
  EXPECT_EQ(sessions.end("d"), Ids{"session_4"});
}

}  // namespace
}  // namespace sessions
