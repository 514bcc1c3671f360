// hutch-init: enters the box and stays there as its pid 1.
//
// hutch-box starts this static program with a plan on descriptor 3 and a socket on descriptor 4.
// The outside half clones itself into the cgroup and new namespaces, maps the ids and exits. The
// clone is a child of hutch-box, builds the root, gives up every right and then serves: it starts
// processes, reaps them and reports how they ended. When the socket closes it exits, and the kernel
// ends everything in the box with it.
//
// `hutch-init --zygote` is started by hutch; see zygote_start.cc.
// `hutch-init --network` has a network namespace on descriptor 5 besides: the plan says what is to
// be opened in it.
// `hutch-init --explain` prints the plan on standard input as text.
#include <fcntl.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sandbox/init/report.h"
#include "sandbox/init/steps.h"
#include "sandbox/wire/plan_format.h"

namespace sandbox::init {
namespace {

int explain() {
  static char bytes[wire::kPlanBytesMax];
  const std::size_t size = std::fread(bytes, 1, sizeof bytes, stdin);
  wire::PlanReader reader(bytes, size);
  wire::PlanRecord record;
  while (reader.next(record)) {
    std::printf("%c", static_cast<char>(record.op));
    for (int i = 0; i < record.field_count; ++i) std::printf("\t%s", record.fields[i]);
    std::printf("\n");
  }
  if (!reader.ok()) std::fprintf(stderr, "hutch-init: the plan is malformed after this\n");
  return reader.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sandbox::init

int main(int argc, char** argv) {
  using namespace sandbox::init;
  if (argc == 2 && std::strcmp(argv[1], "--explain") == 0) return explain();
  if ((argc == 5 || argc == 6) && std::strcmp(argv[1], "--zygote") == 0) {
    return become_zygote({argv[2], argv[3], argv[4], argc == 6 ? argv[5] : nullptr});
  }
  if (::fcntl(kBoxFd, F_SETFD, FD_CLOEXEC) != 0) {
    if (errno != EBADF) fail("mark the socket to hutch-box");
    std::fprintf(stderr, "hutch-init is started by hutch-box; try: hutch-init --explain < plan\n");
    return 2;
  }
  if (argc == 2 && std::strcmp(argv[1], "--network") == 0) {
    enter_network();
  } else {
    (void)live(false);
  }
  return 0;
}
