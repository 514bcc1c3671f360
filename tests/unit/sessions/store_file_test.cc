// The file that tables share tells whoever wants to hear, and holds the schema's lock while it is
// there.
#include "sessions/store_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <memory>
#include <string>

#include "base/fd.h"
#include "sessions/notice.h"
#include "sessions/sqlite.h"
#include "tests/support/temporary_directory.h"

namespace sessions {
namespace {

TEST(StoreFile, TellsWhoWantsToHearAndNobodyElse) {
  const TemporaryDirectory directory;
  StoreFile file(Database::open(directory.path() + "/db").value(), base::UniqueFd());
  file.tell({Notice::Level::kWarning, "nobody hears"});
  Notice heard;
  file.notify = [&heard](const Notice& notice) { heard = notice; };
  file.tell({Notice::Level::kInfo, "words", "p", "session_1"});
  EXPECT_EQ(heard.message, "words");
  EXPECT_EQ(heard.session_id, "session_1");
  EXPECT_EQ(heard.level, Notice::Level::kInfo);
}

TEST(StoreFile, HoldsTheSchemasLockAsLongAsItIsThere) {
  const TemporaryDirectory directory;
  const auto opened = [&directory] {
    return base::open_file(AT_FDCWD, directory.path() + "/lock", O_RDWR | O_CREAT, 0600).value();
  };
  base::UniqueFd lock = opened();
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  auto file = std::make_unique<StoreFile>(Database::open(directory.path() + "/db").value(),
                                          std::move(lock));
  const base::UniqueFd other = opened();
  EXPECT_NE(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  file.reset();
  EXPECT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
}

}  // namespace
}  // namespace sessions
