// hutch-egress: the door to the network for all sessions of a state directory that have one. It is
// the only process of hutch that connects to hosts for the code of sessions, and it sees no file of
// a session.
//
// Started by hutch-box with its listening socket on descriptor 3 and the locked file that says that
// there is a door on descriptor 4, and the directory of downloads on descriptor 5. Boxes come and
// go; it ends when there is none for a while.
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "base/name_service.h"
#include "base/process.h"
#include "base/result.h"
#include "base/text.h"
#include "sandbox/egress/asio.h"
#include "sandbox/egress/door.h"
#include "sandbox/egress/downloads.h"
#include "sandbox/egress/posture.h"
#include "sandbox/time_slice.h"
#include "sandbox/wire/egress_protocol.h"

namespace {

using namespace sandbox;
using base::Error;

base::Status become(std::string_view id) {
  const uid_t uid = base::number_of<uid_t>(id).value_or(0);
  if (uid == 0) {
    return base::error(Error::Kind::kInvalid, "--uid must be the id of a user other than root");
  }
  if (::setgroups(0, nullptr) != 0) return Error::from_errno("setgroups");
  if (::setresgid(uid, uid, uid) != 0) return Error::from_errno("setresgid");
  if (::setresuid(uid, uid, uid) != 0) return Error::from_errno("setresuid");
  return base::done();
}

// The text behind an option of argv; nothing: it is not there.
std::optional<std::string_view> option(int argc, char** argv, std::string_view name) {
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(name)) return argument.substr(name.size());
  }
  return std::nullopt;
}

std::int64_t downloads_mb(int argc, char** argv) {
  const auto text = option(argc, argv, wire::kEgressDownloadsMb);
  return base::number_of<std::int64_t>(text.value_or("")).value_or(0);
}

base::Status give_up_rights(int argc, char** argv) {
  base::raise_descriptor_limit();
  // It has inherited the short ones of hutch-box, which starts it.
  (void)set_time_slice(kKernelsSlice);
  // Read by getaddrinfo(3): nobody waits for half a minute for a name server that is not there.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (::setenv("RES_OPTIONS", "timeout:2 attempts:2", 0) != 0) return Error::from_errno("setenv");
  if (const auto uid = option(argc, argv, wire::kEgressUid)) TRY(become(*uid));
  // A root that has no other ids to give loses its capabilities all the same.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0) return Error::from_errno("capset");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Error::from_errno("no_new_privs");
  // Nobody of the same id reads its memory.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return Error::from_errno("dumpable");
  TRY(egress::restrict_files(wire::kEgressDownloadsFd));
  return egress::restrict_calls();
}

// A failure of one connection does not end the others.
void run(egress::asio::io_context& context) {
  while (true) {
    try {
      context.run();
      return;
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "hutch-egress: goes on after %s\n", failure.what());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (::lseek(wire::kEgressListenFd, 0, SEEK_CUR) < 0 && errno == EBADF) {
    std::fprintf(stderr,
                 "hutch-egress is started by hutch; there is nothing to do with it by hand\n");
    return 2;
  }
  base::use_built_in_names();
  ::signal(SIGPIPE, SIG_IGN);
  const base::Status status = give_up_rights(argc, argv);
  if (!status.ok()) {
    std::fprintf(stderr, "hutch-egress: %s\n", status.error().message.c_str());
    return 1;
  }
  try {
    egress::asio::io_context context(1);
    const egress::Door door(context, base::UniqueFd(wire::kEgressListenFd),
                            egress::Downloads(base::UniqueFd(wire::kEgressDownloadsFd),
                                              downloads_mb(argc, argv) << 20));
    run(context);
    // Before the door's end, which would wait for threads that are looking up names.
    ::_exit(0);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "hutch-egress: %s\n", failure.what());
    return 1;
  }
}
