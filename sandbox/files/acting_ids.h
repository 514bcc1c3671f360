// Touching a session's files with the session's own ids and no right of root. setfsuid(2).
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace sandbox::files {

// An Identity says whose files the box's files are, seen from the host. As an ordinary user they
// are our own and nothing is switched; as root each session has ids of its own.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  bool switch_ids = false;
};

// Returns the identity of a session whose group has the number of its user; without a number, our
// own.
Identity identity_of(std::optional<std::uint32_t> uid);

// While one lives, file access of the thread that made it, and destroys it, is that of `identity`,
// with no supplementary group and no capability but those that lead back. Check status() before any
// work. Each switch clears the process's dumpable flag and the thread's parent-death signal
// (prctl(2)).
class ActingIds {
 public:
  explicit ActingIds(const Identity& identity);
  ~ActingIds();
  ActingIds(const ActingIds&) = delete;
  ActingIds& operator=(const ActingIds&) = delete;

  // Returns kInternal when the thread still has its former ids.
  [[nodiscard]] base::Status status() const;

 private:
  void enter(const Identity& identity);
  void leave();

  bool switched_ = false;
  int failure_ = 0;  // errno of what did not work
  uid_t former_uid_ = 0;
  gid_t former_gid_ = 0;
  std::vector<gid_t> former_groups_;
  bool groups_dropped_ = false;
  std::array<__user_cap_data_struct, 2> former_capabilities_{};
};

}  // namespace sandbox::files
