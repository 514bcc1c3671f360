// The parts of probe_host(), and how they read the host.
#pragma once

#include <string>
#include <vector>

#include "sandbox/probe/probe.h"

namespace sandbox::probe {

using State = Finding::State;

class Host {
 public:
  explicit Host(const HostPaths& paths);

  // Returns up to 1 MiB of the file, without line breaks at the end; empty when it is not there.
  [[nodiscard]] std::string read(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> lines(const std::string& path) const;
  [[nodiscard]] bool has(const std::string& path) const;
  [[nodiscard]] std::string at(const std::string& path) const { return root_ + path; }
  // Returns false when a test looks elsewhere.
  [[nodiscard]] bool is_this_one() const { return root_.empty() || root_ == "/"; }
  [[nodiscard]] bool as_root() const { return uid_ == 0; }
  // Returns where a path leads, as the host names it; empty when it leads nowhere.
  [[nodiscard]] std::string real(const std::string& path) const;
  [[nodiscard]] const std::string& search_path() const { return search_path_; }
  [[nodiscard]] const std::string& home() const { return home_; }

 private:
  std::string root_;
  std::string search_path_;
  std::string home_;
  uid_t uid_;
};

// A Mount is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string root;  // which directory of the file system is mounted
  std::string target;
  std::string type;
  std::vector<std::string> options;  // the file system's
};
std::vector<Mount> mounts_of(const Host& host);

// Each is in its own file.
std::vector<Finding> kernel_findings(const Host& host);
std::vector<Finding> namespace_findings(const Host& host);
std::vector<Finding> cgroup_findings(const Host& host);
std::vector<Finding> surroundings_findings(const Host& host, const std::string& state_directory);
// `environment_directory` is that of the environment that sessions have; empty: none.
std::vector<Finding> program_findings(const Host& host, const std::string& environment_directory);

}  // namespace sandbox::probe
