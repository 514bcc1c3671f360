// Tests that what a box has written down of its network comes into the store once.
#include "sessions/network_journals.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "sandbox/network_journal.h"
#include "sessions/network_table.h"
#include "sessions/session_directory.h"
#include "sessions/store.h"
#include "tests/unit/sessions/store_fixture.h"

namespace sessions {
namespace {

using nlohmann::json;

class NetworkJournalsTest : public testing::StoreFixture {
 protected:
  NetworkJournalsTest() : session_(created()) {
    const std::string path = SessionDirectory(directory_, session_.id).path();
    std::filesystem::create_directories(path);
    session_directory_ = base::open_file(AT_FDCWD, path, O_RDONLY | O_DIRECTORY).value();
  }

  static json opened(int id) {
    return {{"event", "opened"}, {"id", id}, {"host", "a.test"}, {"port", 443}};
  }
  std::vector<AuditedRequest> requests() {
    return store_->network.requests({.session = session_.id}).value();
  }

  Session session_;
  base::UniqueFd session_directory_;
  NetworkJournals journals_{directory_, store_->network, store_->session_lists};
};

TEST_F(NetworkJournalsTest, ASessionWithoutAJournalHasNoRequests) {
  EXPECT_TRUE(journals_.take(session_.id).ok());
  EXPECT_TRUE(journals_.take("session_none").ok());
  EXPECT_TRUE(requests().empty());
}

TEST_F(NetworkJournalsTest, EachRequestComesOnceAndGoesOn) {
  sandbox::NetworkJournal journal(session_directory_.get());
  journal.add(opened(1));
  ASSERT_TRUE(journals_.take(session_.id).ok());
  ASSERT_TRUE(journals_.take_all().ok());
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_TRUE(requests()[0].request.is_open);
  journal.add({{"event", "closed"}, {"id", 1}, {"sent", 6}, {"received", 3}, {"used", 9}});
  NetworkJournals of_another_server(directory_, store_->network, store_->session_lists);
  ASSERT_TRUE(of_another_server.take(session_.id).ok());
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_EQ(requests()[0].request.sent_bytes, 6);
}

TEST_F(NetworkJournalsTest, WithTheBoxEndsWhatIsOpen) {
  sandbox::NetworkJournal journal(session_directory_.get());
  journal.add(opened(1));
  ASSERT_TRUE(journals_.take_last(session_.id).ok());
  ASSERT_EQ(requests().size(), 1U);
  EXPECT_FALSE(requests()[0].request.is_open);
}

}  // namespace
}  // namespace sessions
