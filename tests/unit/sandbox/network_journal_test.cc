// Tests what a box writes down of the network, and what servers read of it.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "sandbox/network_journal.h"
#include "tests/support/temporary_directory.h"

namespace {

using nlohmann::json;
using sandbox::JournalEntry;
using sandbox::NetworkJournal;
using EntryKind = sandbox::JournalEntry::Kind;
namespace fs = std::filesystem;

class NetworkJournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] int fd() const { return directory_.get(); }
  std::vector<JournalEntry> all(std::int64_t after = 0) {
    std::vector<JournalEntry> found;
    for (auto part = sandbox::read_network_journal(fd(), after); !part.empty();
         part = sandbox::read_network_journal(fd(), found.back().end)) {
      found.insert(found.end(), part.begin(), part.end());
    }
    return found;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryDirectory folder_;
  base::UniqueFd directory_ =
      base::open_file(AT_FDCWD, folder_.path(), O_RDONLY | O_DIRECTORY).value();
};

json opened(int id, const std::string& host) {
  return {{"event", "opened"}, {"id", id}, {"host", host}, {"port", 443}, {"looked_into", false}};
}

TEST_F(NetworkJournalTest, HasWhatHasBegunAndWhatBecameOfIt) {
  NetworkJournal journal(fd());
  journal.add(opened(1, "a.test"));
  journal.add({{"event", "opened"}, {"host", "b.test"}, {"port", 443}, {"looked_into", true}});
  journal.add({{"event", "begun"},
               {"id", 2},
               {"host", "b.test"},
               {"method", "GET"},
               {"path", "/x"},
               {"credential", "key"}});
  journal.add({{"event", "carried"}, {"id", 1}, {"sent", 5}, {"ms", 1000}, {"used", 7}});
  journal.add({{"event", "request"}, {"id", 2}, {"status", 200}, {"received", 9}, {"used", 9}});
  journal.add({{"event", "closed"}, {"id", 1}, {"sent", 6}, {"received", 3}, {"used", 2}});
  journal.add({{"event", "used"}, {"used", 4}});
  journal.add({{"event", "refused"},
               {"host", "c.test"},
               {"port", 0},
               {"reason", "no"},
               {"missing_rule", "c.test"}});
  journal.add({{"event", "refused"}, {"more", 120}});
  const auto entries = all();
  ASSERT_EQ(entries.size(), 8);
  EXPECT_EQ(entries[0].request.host, "a.test");
  EXPECT_TRUE(entries[0].request.is_open);
  EXPECT_EQ(entries[1].request.path, "/x");
  EXPECT_EQ(entries[1].request.credential, "key");
  EXPECT_EQ(entries[2].kind, EntryKind::kGoesOn);
  EXPECT_EQ(entries[2].request.number, entries[0].request.number);
  EXPECT_TRUE(entries[2].request.is_open);
  EXPECT_EQ(entries[3].request.number, entries[1].request.number);
  EXPECT_EQ(entries[3].request.status, 200);
  EXPECT_FALSE(entries[3].request.is_open);
  EXPECT_EQ(entries[4].request.sent_bytes, 6);
  EXPECT_EQ(entries[5].kind, EntryKind::kUse);
  EXPECT_EQ(entries[6].request.verdict, "refused");
  EXPECT_EQ(entries[7].request.more, 120);
  std::int64_t used = 0;
  for (const JournalEntry& entry : entries) used += entry.used_bytes;
  EXPECT_EQ(entries[6].request.missing_rule, "c.test");
  EXPECT_EQ(used, 22) << "of the session, once, whatever its rows say";
}

TEST_F(NetworkJournalTest, EndsWhatNobodyCanTellTheEndOf) {
  NetworkJournal journal(fd());
  journal.add(opened(1, "a.test"));
  journal.add({{"event", "carried"}, {"id", 1}, {"sent", 5}});
  journal.add({{"event", "lost"}});
  journal.add(opened(1, "b.test"));  // another door counts from one again
  journal.add({{"event", "closed"}, {"id", 1}, {"sent", 8}});
  const auto entries = all();
  ASSERT_EQ(entries.size(), 5);
  EXPECT_FALSE(entries[2].request.is_open);
  EXPECT_EQ(entries[2].request.number, entries[0].request.number);
  EXPECT_EQ(entries[4].request.number, entries[3].request.number);
}

TEST_F(NetworkJournalTest, IsTakenOverPartByPartAndThenRemoved) {
  const std::string path(1000, 'x');
  {
    NetworkJournal journal(fd());
    for (int i = 0; i < 800; ++i) {
      journal.add({{"event", "begun"}, {"id", i}, {"host", "a.test"}, {"path", path}});
    }
    EXPECT_GT(journal.bytes(), 800'000) << "nothing has gone to make room";
    const auto entries = all();
    ASSERT_EQ(entries.size(), 800);
    const auto first = sandbox::read_network_journal(fd(), 0);
    EXPECT_LT(first.size(), 800) << "some of it at a time";
    sandbox::drop_network_journal(fd(), first.back().end);
    EXPECT_EQ(all().size(), 800) << "the next part has not begun";
    sandbox::drop_network_journal(fd(), entries.back().end);
    EXPECT_EQ(files(), 1);
    journal.look_again();
    EXPECT_LT(journal.bytes(), 300'000);
    EXPECT_TRUE(all(entries.back().end).empty());
    EXPECT_EQ(sandbox::network_journal_end(fd()), entries.back().end);
  }
  // The next box's lines come behind, whatever its clock says.
  const std::int64_t end = sandbox::network_journal_end(fd());
  NetworkJournal next(fd());
  next.add(opened(1, "later.test"));
  const auto entries = all(end);
  ASSERT_EQ(entries.size(), 1);
  EXPECT_EQ(entries[0].request.host, "later.test");
}

TEST_F(NetworkJournalTest, ReadsThoseOfTheBuildBefore) {
  std::ofstream(folder_.path() + "/network-7")
      << R"({"host":"a.test","number":5,"port":443,"received":20,"sent":3,"verdict":"allowed"})"
      << "\n"
      << R"({"host":"b.test","number":6,"reason":"no","verdict":"refused"})"
      << "\n{\"half";
  auto entries = all();
  ASSERT_EQ(entries.size(), 2);
  EXPECT_EQ(entries[0].kind, EntryKind::kBegins);
  EXPECT_FALSE(entries[0].request.is_open);
  EXPECT_EQ(entries[0].used_bytes, 23);
  EXPECT_EQ(entries[0].at, 5);
  EXPECT_EQ(entries[1].used_bytes, 0);
  NetworkJournal journal(fd());
  journal.add(opened(1, "new.test"));
  entries = all();
  ASSERT_EQ(entries.size(), 3);
  EXPECT_EQ(entries[2].request.host, "new.test");
}

TEST_F(NetworkJournalTest, KeepsWhatTheDiskDoesNotTake) {
  NetworkJournal journal(fd());
  fs::create_directory(folder_.path() + "/network-1");  // in its way
  journal.add(opened(1, "a.test"));
  EXPECT_TRUE(journal.is_stuck());
  journal.add({{"event", "closed"}, {"id", 1}, {"sent", 8}});
  fs::remove(folder_.path() + "/network-1");
  journal.look_again();
  EXPECT_FALSE(journal.is_stuck());
  EXPECT_EQ(all().size(), 2);
}

TEST_F(NetworkJournalTest, CountsWhatTheDiskHasNotTakenForTooLong) {
  NetworkJournal journal(fd());
  fs::create_directory(folder_.path() + "/network-1");  // in its way
  journal.add(opened(1, "a.test"));
  constexpr int kRefused = 6000;
  for (int i = 0; i < kRefused; ++i) {
    journal.add({{"event", "refused"}, {"host", "b.test"}, {"reason", std::string(1000, 'x')}});
  }
  const std::string long_path(1000, 'x');
  journal.add({{"event", "begun"}, {"id", 2}, {"host", "c.test"}, {"path", long_path}});
  for (int i = 0; i < 200; ++i) journal.add({{"event", "used"}, {"used", 1}});
  journal.add({{"event", "closed"}, {"id", 1}, {"sent", 8}, {"used", 8}});
  journal.add({{"event", "request"}, {"id", 2}, {"status", 200}, {"used", 9}});
  fs::remove(folder_.path() + "/network-1");
  journal.look_again();
  EXPECT_FALSE(journal.is_stuck());
  std::int64_t refused = 0;
  std::int64_t allowed = 0;
  std::int64_t used = 0;
  bool first_is_open = true;
  int sums = 0;
  const auto entries = all();
  for (const JournalEntry& entry : entries) {
    const auto& request = entry.request;
    sums += request.more > 0 ? 1 : 0;
    used += entry.used_bytes;
    if (entry.kind == EntryKind::kGoesOn && request.number == entries[0].request.number) {
      first_is_open = request.is_open;
    }
    if (entry.kind != EntryKind::kBegins) continue;
    (request.verdict == "refused" ? refused : allowed) += std::max<std::int64_t>(request.more, 1);
  }
  EXPECT_EQ(refused, kRefused);
  EXPECT_EQ(allowed, 2);
  EXPECT_EQ(used, 200 + 8 + 9);
  EXPECT_FALSE(first_is_open) << "its end is told, though its line had no room";
  EXPECT_EQ(sums, 2) << "one for each verdict";
  journal.look_again();
  EXPECT_EQ(all().size(), entries.size()) << "told once";
}

}  // namespace
