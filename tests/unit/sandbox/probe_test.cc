// Tests what hutch doctor says of hosts that are made up, and of this one.
#include "base/process.h"
#include "sandbox/probe/probe.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;
using sandbox::probe::Finding;
using sandbox::probe::HostPaths;
using State = Finding::State;

constexpr uid_t kUser = 1000;

class Probe : public testing::Test {
 protected:
  Probe() {
    std::string name = "/tmp/hutch-probe-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
    put("/proc/sys/user/max_user_namespaces", "15000\n");
    put("/proc/self/ns/user", "");
    mounts_ = "20 1 0:20 / /proc rw shared:5 - proc proc rw\n";
  }
  ~Probe() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& content) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << content;
  }
  void directory(const std::string& path) const { fs::create_directories(root_ + path); }
  void add_mount(const std::string& line) { mounts_ += line + "\n"; }

  [[nodiscard]] Finding find(const std::string& layer, uid_t uid = kUser) const {
    put("/proc/self/mountinfo", mounts_);
    HostPaths paths;
    paths.root = root_;
    paths.uid = uid;
    paths.search_path = search_path_;
    paths.home = "/home/me";
    for (const Finding& finding : sandbox::probe::probe_host(paths)) {
      if (finding.layer == layer) return finding;
    }
    ADD_FAILURE() << "no finding " << layer;
    return {};
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string root_;
  std::string mounts_;
  std::string search_path_;
};

TEST_F(Probe, UserNamespaces) {
  EXPECT_EQ(find("user namespaces").state, State::kGood);
  put("/proc/sys/user/max_user_namespaces", "0\n");
  EXPECT_EQ(find("user namespaces").state, State::kMissing);
  EXPECT_TRUE(has(find("user namespaces").remedy, "user.max_user_namespaces="));
}

TEST_F(Probe, DebiansSwitchIsForOrdinaryUsers) {
  put("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_EQ(find("user namespaces").state, State::kMissing);
  EXPECT_TRUE(has(find("user namespaces").remedy, "kernel.unprivileged_userns_clone=1"));
  EXPECT_EQ(find("user namespaces", 0).state, State::kGood);
}

TEST_F(Probe, KernelWithoutUserNamespaces) {
  fs::remove(root_ + "/proc/self/ns/user");
  EXPECT_EQ(find("user namespaces").state, State::kMissing);
}

TEST_F(Probe, UbuntusAppArmorIsExplained) {
  put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  put("/proc/self/attr/current", "unconfined\n");
  const Finding finding = find("AppArmor");
  EXPECT_EQ(finding.state, State::kMissing);
  EXPECT_TRUE(has(finding.detail, "Ubuntu 24.04"));
  // With the directory of the program that runs: a profile for all paths would be for everybody's.
  const std::string own = base::executable_directory().value();
  EXPECT_TRUE(has(finding.remedy, "/share/hutch/apparmor/install.sh " + own));
  EXPECT_TRUE(has(finding.remedy, "kernel.apparmor_restrict_unprivileged_userns=0"));
}

TEST_F(Probe, AppArmorWithOurProfileOrAsRootOrOff) {
  EXPECT_EQ(find("AppArmor").state, State::kGood);
  put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  put("/proc/self/attr/current", "unconfined\n");
  EXPECT_EQ(find("AppArmor", 0).state, State::kGood);
  put("/proc/self/attr/current", "hutch (unconfined)\n");
  EXPECT_EQ(find("AppArmor").state, State::kGood);
  put("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");
  put("/proc/self/attr/current", "unconfined\n");
  EXPECT_EQ(find("AppArmor").state, State::kGood);
}

TEST_F(Probe, MaskedProc) {
  EXPECT_EQ(find("/proc").state, State::kGood);
  add_mount("30 20 0:20 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw");
  EXPECT_EQ(find("/proc").state, State::kGood);
  add_mount("31 20 0:5 /null /proc/kcore rw master:3 - devtmpfs udev rw");
  add_mount("32 20 0:50 / /proc/acpi ro - tmpfs tmpfs ro");
  const Finding finding = find("/proc");
  EXPECT_EQ(finding.state, State::kMissing);
  EXPECT_TRUE(has(finding.detail, "2 parts of it are covered (/proc/kcore, ...)"));
  EXPECT_TRUE(has(finding.remedy, "systempaths=unconfined"));
  EXPECT_EQ(find("/proc", 0).state, State::kWeaker);
}

TEST_F(Probe, NoProc) {
  mounts_ = "nonsense\n1 2 - x\n";
  EXPECT_EQ(find("/proc").state, State::kMissing);
}

TEST_F(Probe, NoCgroups) {
  const Finding finding = find("cgroups");
  EXPECT_EQ(finding.state, State::kWeaker);
  EXPECT_EQ(finding.detail, "none mounted");
  EXPECT_TRUE(has(find("cgroups", 0).remedy, "mount -t cgroup2"));
}

TEST_F(Probe, Cgroup2Delegated) {
  const std::string own = "/user.slice/user@1000.service/app.slice/hutch.scope";
  put("/proc/self/cgroup", "0::" + own + "\n");
  add_mount("25 20 0:22 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  put("/sys/fs/cgroup" + own + "/cgroup.controllers", "cpu memory pids\n");
  const Finding finding = find("cgroups");
  EXPECT_EQ(finding.state, State::kGood) << finding.detail;
  EXPECT_EQ(finding.detail, "may be made: memory (v2), pids (v2), cpu (v2), freezer (v2)");
  // Nothing is left of the trial.
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/sys/fs/cgroup" + own),
                          fs::directory_iterator{}),
            1);
}

TEST_F(Probe, Cgroup2WithoutCpu) {
  put("/proc/self/cgroup", "0::/user.slice\n");
  add_mount("25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  put("/sys/fs/cgroup/user.slice/cgroup.controllers", "memory pids\n");
  const Finding finding = find("cgroups");
  EXPECT_EQ(finding.state, State::kWeaker);
  EXPECT_EQ(finding.detail, "not usable: cpu; usable: memory (v2), pids (v2), freezer (v2)");
  EXPECT_TRUE(has(finding.remedy, "Delegate=cpu memory pids"));
}

TEST_F(Probe, Cgroup2ThatIsNotOurs) {
  put("/proc/self/cgroup", "0::/system.slice\n");
  add_mount("25 20 0:22 / /sys/fs/cgroup ro - cgroup2 cgroup2 ro");
  // A file where the directory should be: nobody can make anything in it, root neither.
  put("/sys/fs/cgroup/system.slice", "");
  const Finding finding = find("cgroups");
  EXPECT_EQ(finding.state, State::kWeaker);
  EXPECT_TRUE(has(finding.detail, "no cgroup may be made in /sys/fs/cgroup/system.slice"));
  EXPECT_TRUE(has(finding.remedy, "systemd-run --user --scope -p Delegate=yes"));
}

TEST_F(Probe, Cgroup1) {
  put("/proc/self/cgroup",
      "9:name=systemd:/x\n8:pids:/\n6:freezer:/\n4:memory:/outer/own\n1:cpu,cpuacct:/\n0::/\n");
  for (const char* name : {"pids", "freezer", "memory", "cpu,cpuacct"}) {
    add_mount("40 20 0:40 / /sys/fs/cgroup/" + std::string(name) + " rw - cgroup cgroup rw," +
              name);
    directory("/sys/fs/cgroup/" + std::string(name));
  }
  directory("/sys/fs/cgroup/memory/outer/own");
  const Finding finding = find("cgroups", 0);
  EXPECT_EQ(finding.state, State::kGood) << finding.detail;
  EXPECT_EQ(finding.detail, "may be made: memory (v1), pids (v1), cpu (v1), freezer (v1)");
  fs::remove_all(root_ + "/sys/fs/cgroup/memory");
  EXPECT_TRUE(has(find("cgroups").detail, "not usable: memory"));
  EXPECT_TRUE(has(find("cgroups").remedy, "unified_cgroup_hierarchy"));
}

TEST_F(Probe, CgroupMountOfAContainerShowsOurPartOnly) {
  put("/proc/self/cgroup", "0::/docker/abc\n");
  add_mount("25 20 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw");
  put("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n");
  EXPECT_EQ(find("cgroups").state, State::kGood);
}

TEST_F(Probe, Swap) {
  put("/proc/swaps", "Filename Type Size\n");
  EXPECT_EQ(find("swap").state, State::kGood);
  put("/proc/swaps", "Filename Type Size\n/swapfile file 100\n");
  EXPECT_EQ(find("swap").state, State::kWeaker);
  put("/proc/self/cgroup", "0::/\n");
  add_mount("25 20 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  put("/sys/fs/cgroup/cgroup.controllers", "memory\n");
  EXPECT_EQ(find("swap").state, State::kGood);
}

TEST_F(Probe, Surroundings) {
  EXPECT_TRUE(has(find("container").detail, "no sign"));
  put("/.dockerenv", "");
  EXPECT_TRUE(has(find("container").detail, "Docker"));
  put("/proc/sys/kernel/core_pattern", "|/usr/share/apport/apport -p%p\n");
  EXPECT_TRUE(has(find("core dumps").detail, "(/usr/share/apport/apport)"));
  put("/proc/sys/kernel/core_pattern", "|\n");
  EXPECT_EQ(find("core dumps").state, State::kGood);
  put("/proc/sys/kernel/core_pattern", "core\n");
  EXPECT_EQ(find("core dumps").state, State::kGood);
  put("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_TRUE(has(find("ptrace").detail, "restricted"));
}

TEST_F(Probe, ProgramsAndPackages) {
  EXPECT_EQ(find("JavaScript").state, State::kWeaker);
  EXPECT_EQ(find("JavaScript").remedy, "apt install nodejs");
  put("/usr/bin/node", "");
  EXPECT_EQ(find("JavaScript").state, State::kGood);
  directory("/usr/lib/python3/dist-packages/numpy");
  EXPECT_EQ(find("Python packages").detail, "missing: pandas matplotlib; there: numpy");
  EXPECT_TRUE(has(find("Python packages").remedy, "hutch environments build"));
  EXPECT_TRUE(has(find("Python packages").remedy, "apt install python3-pandas python3-matplotlib"));
  directory("/usr/lib/python3/dist-packages/pandas");
  directory("/usr/lib/python3/dist-packages/matplotlib");
  EXPECT_EQ(find("Python packages").state, State::kGood);
  EXPECT_TRUE(find("Python packages").has_packages);
  EXPECT_FALSE(find("IPython").has_packages || find("SQL engine").has_packages);
  EXPECT_EQ(find("IPython").remedy, "apt install ipython3");
  EXPECT_EQ(find("kept functions").state, State::kWeaker);
  EXPECT_EQ(find("kept functions").remedy, "apt install python3-cloudpickle");
  EXPECT_EQ(find("SQL engine").detail.substr(0, 7), "SQLite;");
  EXPECT_EQ(find("TypeScript").remedy, "apt install esbuild");
  directory("/usr/lib/python3/dist-packages/IPython");
  directory("/usr/lib/python3/dist-packages/cloudpickle");
  directory("/usr/local/lib/python3.11/dist-packages/duckdb");
  put("/usr/bin/esbuild", "");
  EXPECT_EQ(find("IPython").state, State::kGood);
  EXPECT_EQ(find("kept functions").state, State::kGood);
  EXPECT_EQ(find("SQL engine").detail, "DuckDB");
  EXPECT_TRUE(find("IPython").has_packages && find("SQL engine").has_packages);
  EXPECT_EQ(find("TypeScript").state, State::kGood);
}

TEST_F(Probe, InterpretersThatSessionsDoNotUse) {
  put("/usr/bin/python3.11", "");
  fs::create_symlink("python3.11", root_ + "/usr/bin/python3");
  put("/home/me/.pyenv/shims/python3", "");
  put("/usr/local/bin/python3", "");
  put("/home/me/.local/lib/python3.12/site-packages/pandas/__init__.py", "");
  directory("/usr/local/lib/python3.12/dist-packages/numpy");
  search_path_ = "/home/me/.pyenv/shims:nowhere:/usr/local/bin:/usr/bin:/bin";
  const Finding python = find("Python, SQL");
  EXPECT_EQ(python.state, State::kGood);
  EXPECT_TRUE(has(python.detail, "not /home/me/.pyenv/shims/python3: outside of /usr"))
      << python.detail;
  EXPECT_TRUE(has(python.detail, "/usr/local/bin/python3 only where code starts it by name"));
  EXPECT_FALSE(has(python.detail, "python3.11")) << "the same by another name";
  const Finding packages = find("Python packages");
  EXPECT_TRUE(has(packages.detail, "missing: numpy pandas matplotlib")) << packages.detail;
  EXPECT_TRUE(has(packages.detail, "/usr/local/lib/python3.12/dist-packages/numpy"));
  EXPECT_TRUE(has(packages.detail, "/home/me/.local/lib/python3.12/site-packages/pandas"));
  directory("/usr/local/lib/python3.11/dist-packages/numpy");
  EXPECT_TRUE(has(find("Python packages").detail, "missing: pandas matplotlib; there: numpy"));
}

TEST_F(Probe, InterpretersThatLieElsewhere) {
  search_path_ = "/home/me/.nvm/bin";
  put("/home/me/.nvm/bin/node", "");
  const Finding none = find("JavaScript");
  EXPECT_EQ(none.state, State::kWeaker);
  EXPECT_TRUE(has(none.detail, "no /usr/bin/node")) << none.detail;
  EXPECT_TRUE(has(none.detail, "not /home/me/.nvm/bin/node: outside of /usr"));
  put("/snap/node/20/bin/node", "");
  directory("/usr/bin");
  fs::create_symlink("../../snap/node/20/bin/node", root_ + "/usr/bin/node");
  const Finding snap = find("JavaScript");
  EXPECT_EQ(snap.state, State::kWeaker);
  EXPECT_TRUE(has(snap.detail, "/usr/bin/node leads to /snap/node/20/bin/node")) << snap.detail;
  EXPECT_EQ(snap.remedy, "apt install nodejs");
}

TEST_F(Probe, Seccomp) {
  put("/proc/sys/kernel/seccomp/actions_avail", "kill_thread trap errno trace allow\n");
  EXPECT_EQ(find("seccomp").state, State::kMissing);
  put("/proc/sys/kernel/seccomp/actions_avail", "kill_process kill_thread errno allow\n");
  EXPECT_EQ(find("seccomp").state, State::kGood);
}

TEST_F(Probe, StateDirectory) {
  HostPaths paths;
  paths.root = root_;
  const auto state = [&](const std::string& directory) {
    paths.state_directory = directory;
    for (const Finding& finding : sandbox::probe::probe_host(paths)) {
      if (finding.layer == "state directory") return finding;
    }
    return Finding{"", State::kMissing, "not looked at", ""};
  };
  EXPECT_EQ(state("").detail, "not looked at");
  EXPECT_TRUE(has(state(root_ + "/not/made/yet").detail, " MB free"));
  const Finding in_memory = state("/dev/shm");
  if (has(in_memory.detail, "tmpfs")) {
    EXPECT_TRUE(has(in_memory.detail, "lost at a reboot"));
  }
  EXPECT_EQ(state("relative").state, State::kMissing);
}

TEST(ProbeHere, EveryFindingSaysSomething) {
  const auto findings = sandbox::probe::probe_host({});
  EXPECT_GT(findings.size(), 20U);
  std::set<std::string> layers;
  for (const Finding& finding : findings) {
    EXPECT_FALSE(finding.detail.empty()) << finding.layer;
    EXPECT_TRUE(layers.insert(finding.layer).second) << finding.layer << " twice";
    EXPECT_EQ(finding.state == State::kGood, finding.remedy.empty()) << finding.layer;
  }
  EXPECT_TRUE(layers.contains("cgroups"));
}

TEST(ProbeOutput, TableIsAligned) {
  const std::vector<Finding> findings = {{"a", State::kGood, "fine", ""},
                                         {"longer", State::kMissing, "not\033 fine", "do this"}};
  EXPECT_EQ(sandbox::probe::render_table(findings, false),
            "a       good     fine\n"
            "longer  missing  not? fine\n"
            "                 -> do this\n");
  EXPECT_NE(sandbox::probe::render_table(findings, true).find("\033[31mmissing  \033[0mnot?"),
            std::string::npos);
}

TEST(ProbeOutput, LimitsSayTheirLevel) {
  const std::vector<Finding> limit = {
      {"disk_mb", State::kWeaker, "measured", "use a quota", sandbox::Level::kWatched}};
  EXPECT_EQ(sandbox::probe::render_table(limit, false),
            "disk_mb  weaker   watched: measured\n"
            "                  -> use a quota\n");
  EXPECT_EQ(nlohmann::json::parse(sandbox::probe::to_json(limit))[0]["level"], "watched");
}

TEST(ProbeOutput, Json) {
  const auto parsed =
      nlohmann::json::parse(sandbox::probe::to_json({{"x", State::kWeaker, "a \xff", "b"}}));
  EXPECT_EQ(parsed[0]["layer"], "x");
  EXPECT_EQ(parsed[0]["state"], "weaker");
  EXPECT_EQ(parsed[0]["remedy"], "b");
  EXPECT_FALSE(parsed[0].contains("level")) << "not a limit";
}

}  // namespace
