// Tests what the door can open, once it has said what it needs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/draft.h"
#include "base/fd.h"
#include "sandbox/egress/posture.h"

namespace {

using namespace sandbox;

bool can_open(int folder_fd, const char* path, int flags) {
  return base::UniqueFd(::openat(folder_fd, path, flags | O_CLOEXEC, 0600)).valid();
}

// In a process of its own, as it cannot be undone. 0: as it should be.
int tried(int own_fd, int others_fd) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
  if (!egress::restrict_files(own_fd).ok()) return 2;
  if (!can_open(AT_FDCWD, "/etc/hosts", O_RDONLY)) return 3;
  if (can_open(AT_FDCWD, "/etc/hosts", O_WRONLY)) return 4;
  if (can_open(others_fd, "file", O_RDONLY) || errno != EACCES) return 5;
  if (can_open(others_fd, "new", O_WRONLY | O_CREAT)) return 6;
  if (!can_open(own_fd, "file", O_RDONLY)) return 7;
  base::Draft draft(own_fd);
  if (draft.fill("kept", 0600) != 0 || draft.publish_over("file") != 0) return 8;
  if (base::names_in(own_fd).size() != 1) return 9;
  if (::unlinkat(own_fd, "file", 0) != 0) return 10;
  return 0;
}

TEST(EgressLandlock, NothingButWhatNamesNeedAndItsOwn) {
  if (::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION) < 0) {
    GTEST_SKIP() << "this kernel has no Landlock";
  }
  std::string places[] = {"/tmp/egress_own.XXXXXX", "/tmp/egress_others.XXXXXX"};
  base::UniqueFd folders[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(::mkdtemp(places[i].data()), nullptr);
    folders[i] = base::UniqueFd(::open(places[i].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(can_open(folders[i].get(), "file", O_WRONLY | O_CREAT));
  }
  const pid_t child = ::fork();
  if (child == 0) ::_exit(tried(folders[0].get(), folders[1].get()));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  for (int i = 0; i < 2; ++i) {
    (void)::unlinkat(folders[i].get(), "file", 0);
    EXPECT_EQ(::rmdir(places[i].c_str()), 0);
  }
}

}  // namespace
