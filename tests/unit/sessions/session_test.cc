// Names of statuses, and where relative paths of a session lead.
#include "sessions/session.h"

#include <gtest/gtest.h>

#include <string>

namespace sessions {
namespace {

TEST(Session, EachStatusHasANameAndIsFoundByIt) {
  for (const SessionStatus status :
       {SessionStatus::kProvisioning, SessionStatus::kReady, SessionStatus::kRunning,
        SessionStatus::kPaused, SessionStatus::kStored, SessionStatus::kStopped,
        SessionStatus::kError, SessionStatus::kDestroyed}) {
    EXPECT_EQ(find_session_status(name_of(status)), status) << name_of(status);
  }
  EXPECT_EQ(find_session_status("Ready"), std::nullopt);
  EXPECT_EQ(find_session_status(""), std::nullopt);
}

TEST(Session, RelativePathsGoFromItsWorkingDirectory) {
  Session session;
  EXPECT_EQ(absolute_path(session, "a/b"), "/workspace/a/b");
  EXPECT_EQ(absolute_path(session, "/tmp/a"), "/tmp/a");
  session.working_directory = "/home/user";
  EXPECT_EQ(absolute_path(session, "a"), "/home/user/a");
  EXPECT_EQ(absolute_path(session, "~/b"), "/home/user/b");
}

TEST(Session, OneThatIsNoMoreIsNotFound) {
  EXPECT_EQ(deleted().kind, base::Error::Kind::kNotFound);
  EXPECT_NE(deleted().message.find("create_session"), std::string::npos);
}

}  // namespace
}  // namespace sessions
