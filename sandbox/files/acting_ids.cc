#include "sandbox/files/acting_ids.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace sandbox::files {

namespace {

using Capabilities = std::array<__user_cap_data_struct, 2>;

// System calls of their own: glibc's setgroups() changes every thread of the process (nptl(7)).
bool set_groups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

bool get_capabilities(Capabilities& data) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capget, &header, data.data()) == 0;
}

bool set_capabilities(const Capabilities& data) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

// Neither call reports failure; asking with an impossible id tells the one in force.
bool set_filesystem_ids(uid_t uid, gid_t gid) {
  constexpr auto kImpossible = static_cast<uid_t>(-1);
  (void)::setfsgid(gid);
  (void)::setfsuid(uid);
  return static_cast<uid_t>(::setfsuid(kImpossible)) == uid &&
         static_cast<gid_t>(::setfsgid(kImpossible)) == gid;
}

}  // namespace

Identity identity_of(std::optional<std::uint32_t> uid) {
  if (!uid) return {};
  return {*uid, *uid, true};
}

ActingIds::ActingIds(const Identity& identity) {
  if (!identity.switch_ids) return;
  enter(identity);
  if (failure_ != 0 && switched_) leave();
}

ActingIds::~ActingIds() {
  if (switched_) leave();
}

base::Status ActingIds::status() const {
  if (failure_ == 0) return base::done();
  errno = failure_;
  return base::Error::from_errno("take on the session's ids");
}

void ActingIds::enter(const Identity& identity) {
  const int count = ::getgroups(0, nullptr);
  former_groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count < 0 || ::getgroups(count, former_groups_.data()) < 0 ||
      !get_capabilities(former_capabilities_)) {
    failure_ = errno;
    return;
  }
  constexpr auto kImpossible = static_cast<uid_t>(-1);
  former_uid_ = static_cast<uid_t>(::setfsuid(kImpossible));
  former_gid_ = static_cast<gid_t>(::setfsgid(kImpossible));
  switched_ = true;
  if (!former_groups_.empty()) {
    if (!set_groups({})) {
      failure_ = errno;
      return;
    }
    groups_dropped_ = true;
  }
  if (!set_filesystem_ids(identity.uid, identity.gid)) {
    failure_ = EPERM;
    return;
  }
  // setfsuid() away from 0 takes CAP_DAC_OVERRIDE and its kin, unless securebits say otherwise.
  // CAP_SYS_RESOURCE, which breaks quotas, it always leaves. So all go but the two that lead back.
  Capabilities kept = former_capabilities_;
  kept[0].effective &= (1U << CAP_SETUID) | (1U << CAP_SETGID);
  kept[1].effective = 0;
  if (!set_capabilities(kept)) failure_ = errno;
}

void ActingIds::leave() {
  switched_ = false;
  const bool back = set_filesystem_ids(former_uid_, former_gid_) &&
                    (!groups_dropped_ || set_groups(former_groups_)) &&
                    set_capabilities(former_capabilities_);
  // This thread would go on to serve another session with the ids of this one.
  if (!back) std::abort();
}

}  // namespace sandbox::files
