// Who ends with a service is told by the cgroups that its manager keeps.
#include "sandbox/service_cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sandbox {
namespace {

TEST(ServiceCgroup, ItHasWhatIsInItAndBelow) {
  const char* ours = "0::/system.slice/hutch.service/hutch-supervisor\n";
  EXPECT_TRUE(is_in_cgroup_of(ours, ours));
  EXPECT_TRUE(is_in_cgroup_of(ours, "0::/system.slice/hutch.service\n"));
  EXPECT_TRUE(is_in_cgroup_of(ours, "0::/system.slice/hutch.service/hutch-sessions/s\n"));
  EXPECT_FALSE(is_in_cgroup_of(ours, "0::/system.slice/hutch.service2\n"));
  EXPECT_FALSE(is_in_cgroup_of(ours, "0::/system.slice\n"));
  EXPECT_FALSE(is_in_cgroup_of(ours, "0::/user.slice/user-1000.slice/session-3.scope\n"));
}

TEST(ServiceCgroup, AContainerHasAllThatItSees) {
  EXPECT_TRUE(is_in_cgroup_of("0::/\n", "0::/\n"));
  EXPECT_TRUE(is_in_cgroup_of("0::/hutch-supervisor\n", "0::/hutch-sessions/s\n"));
}

TEST(ServiceCgroup, BesideVersionOneTheOnesOfSystemdCount) {
  const char* ours = "12:pids:/a\n1:name=systemd:/system.slice/hutch.service\n";
  EXPECT_TRUE(is_in_cgroup_of(ours, "12:pids:/b\n1:name=systemd:/system.slice/hutch.service\n"));
  EXPECT_FALSE(is_in_cgroup_of(ours, "12:pids:/a\n1:name=systemd:/user.slice\n"));
  const char* both = "1:name=systemd:/system.slice/hutch.service\n0::/system.slice/hutch.service\n";
  EXPECT_FALSE(is_in_cgroup_of(both, "1:name=systemd:/system.slice/hutch.service\n0::/other\n"));
}

TEST(ServiceCgroup, WhoHasEndedIsInNone) {
  EXPECT_TRUE(is_in_our_cgroup(::getpid()));
  EXPECT_FALSE(is_in_our_cgroup(-1));
}

}  // namespace
}  // namespace sandbox
