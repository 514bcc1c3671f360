// Threads that see another system than the rest of the test program.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <thread>

// For this thread: `call` fails with `failure` where one of the `bits` of its argument is set. With
// others the stricter answer holds.
inline void forbid(int call, int argument, int bits, int failure) {
  constexpr auto word = [](auto value) { return static_cast<std::uint32_t>(value); };
  const std::size_t place =
      offsetof(seccomp_data, args) + static_cast<std::size_t>(argument) * sizeof(std::uint64_t);
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, word(offsetof(seccomp_data, nr))),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, word(call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, word(place)),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, word(bits), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | word(failure)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// As on a file system that has no files without names.
inline void forbid_unnamed_files() { forbid(SYS_openat, 2, O_TMPFILE & ~O_DIRECTORY, EOPNOTSUPP); }

// As on NFS.
inline void forbid_renaming_without_replacing() {
  forbid(SYS_renameat2, 4, RENAME_NOREPLACE, EINVAL);
}

// In a mount namespace of one thread's own: nothing else sees what is mounted. Needs root.
inline void in_own_mounts(const std::function<void()>& body) {
  std::thread([&] {
    ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    body();
  }).join();
}
