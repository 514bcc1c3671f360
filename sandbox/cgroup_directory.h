// Finding our own place in the cgroup trees, and handling one cgroup's files. cgroups(7).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace sandbox {

// A CgroupHierarchy is one mounted hierarchy and our own directory in it.
struct CgroupHierarchy {
  int version = 2;
  std::vector<std::string> controllers;  // version 1: those co-mounted here
  std::string own_directory;
  std::string top;  // where it is mounted: nothing above is a cgroup that we can see
};

std::vector<CgroupHierarchy> find_cgroup_hierarchies();

// Returns false when the file is not there or refuses the value.
bool write_cgroup_file(const std::string& path, const std::string& value);
std::optional<std::string> read_cgroup_file(const std::string& path);
// Returns the number after `key` in lines of "key number", or at the beginning of the file when
// `key` is empty; 0 when there is none.
std::int64_t read_cgroup_number(const std::string& path, const std::string& key);

// Reads such a number from a file that stays open, for what is asked before and after each run. Any
// thread may ask; once the cgroup is gone the number is 0.
class CgroupCounter {
 public:
  CgroupCounter() = default;
  CgroupCounter(const std::string& path, std::string key);
  [[nodiscard]] std::int64_t value() const;

 private:
  base::UniqueFd file_;
  std::string key_;
};

// Returns the words between spaces and ends of lines; none when the file cannot be read.
std::vector<std::string> read_cgroup_words(const std::string& path);

// rmdir, again for up to a second while the kernel is still letting go of ended processes.
void remove_cgroup(const std::string& directory);

// Removes an empty cgroup. One that has something in it stays: the kernel says no.
void remove_empty_cgroup(const std::string& directory);

// Thaws what is frozen in it: in version 1 nothing that is frozen can end.
void thaw_cgroup(const std::string& directory);

// Thaws it, kills everything in it and removes it. Does nothing when it is not there.
void end_cgroup(const std::string& directory);

}  // namespace sandbox
