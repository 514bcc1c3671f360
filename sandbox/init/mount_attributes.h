// Sets what nobody can do through a mount: write, use device nodes, gain rights by set-user-ID.
// mount_setattr(2); Linux before 5.12 has mount(2) alone, which takes attached mounts, one by one.
#pragma once

namespace sandbox::init {

struct MountAttributes {
  unsigned long long set = 0;  // MOUNT_ATTR_RDONLY, _NOSUID, _NODEV, _NOEXEC
  bool recursive = false;      // for the mounts below as well
  bool alone = false;          // else what is mounted there on the host later would show up here
};

// Attaches a detached tree as move_mount(2) does with these arguments, and with these attributes.
// Returns -1 with errno when that fails; it may be attached without them then, so nothing else may
// go on.
int attach_mount(int mount_fd, int directory, const char* target, unsigned flags,
                 const MountAttributes& attributes);

// Sets the attributes of a mount that is attached already; `recursive` is not looked at. Returns -1
// with errno when that fails.
int set_mount_attributes(const char* path, const MountAttributes& attributes);

}  // namespace sandbox::init
