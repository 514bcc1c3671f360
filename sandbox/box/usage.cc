#include "sandbox/box/usage.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "sandbox/box/deleted_files.h"
#include "sandbox/box/disk_room.h"
#include "sandbox/box/process_memory.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/box/socket_memory.h"
#include "sandbox/files/tree.h"

namespace sandbox::box {
namespace {

struct Sum {
  std::int64_t total = 0;
  pid_t largest = -1;
};

// What is mapped of the box's tmpfs and memfds is in the processes and in `unmapped` both.
enum class Overlap { kNone, kWhatHasNames };
Sum add_up(const std::vector<pid_t>& processes, ProcessMemory (*measure)(pid_t),
           std::int64_t unmapped, Overlap overlap, const std::stop_token& stop) {
  Sum sum;
  std::int64_t anonymous = 0;
  std::int64_t shared = 0;
  std::int64_t largest_bytes = -1;
  for (const pid_t pid : processes) {
    if (stop.stop_requested()) break;
    const ProcessMemory memory = measure(pid);
    // Nothing of it is in `unmapped`, and of what else is shared, all may be.
    anonymous += memory.anonymous_bytes + memory.nameless_bytes;
    shared += memory.shared_bytes - memory.nameless_bytes;
    const std::int64_t own = memory.anonymous_bytes + memory.shared_bytes;
    if (own <= largest_bytes) continue;
    largest_bytes = own;
    sum.largest = pid;
  }
  sum.total =
      anonymous + (overlap == Overlap::kNone ? shared + unmapped : std::max(shared, unmapped));
  return sum;
}

bool is_on(dev_t device, const std::vector<int>& mounts) {
  return std::any_of(mounts.begin(), mounts.end(), [device](int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 && status.st_dev == device;
  });
}

std::int64_t tmpfs_bytes(const std::vector<int>& mounts) {
  std::int64_t bytes = 0;
  for (const int mount : mounts) {
    struct statfs status {};
    if (::fstatfs(mount, &status) != 0) continue;
    bytes += static_cast<std::int64_t>(status.f_blocks - status.f_bfree) * status.f_bsize;
  }
  return bytes;
}

std::int64_t unmapped_memory(const Measured& measured, const std::vector<pid_t>& processes,
                             const std::stop_token& stop) {
  std::int64_t bytes = tmpfs_bytes(measured.tmpfs);
  for (const DeletedFile& file : deleted_open_files(processes, stop).files) {
    // statfs(2) has counted what lies on the box's tmpfs.
    if (!is_on(file.device, measured.directories) && !is_on(file.device, measured.tmpfs)) {
      bytes += file.bytes;
    }
  }
  return bytes;
}

// The number may have come to mean a stranger since it was read. While the process that the
// descriptor holds is not reaped, the number is its own: so it was when the box was found to have
// it.
base::UniqueFd hold_process(pid_t pid, const Measured& measured) {
  base::UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  const std::vector<pid_t> processes = read_descendants(measured.init_host_pid);
  const bool in_box = std::find(processes.begin(), processes.end(), pid) != processes.end();
  const bool there = ::syscall(SYS_pidfd_send_signal, held.get(), 0, nullptr, 0) == 0;
  if (!in_box || !there || !is_alive(measured.init_pidfd)) held.reset();
  return held;
}

}  // namespace

ProcessUsage measure_processes(const Measured& measured, const ProcessQuestions& questions,
                               const std::stop_token& stop) {
  ProcessUsage usage;
  const std::vector<pid_t> processes = read_descendants(measured.init_host_pid);
  usage.processes = processes.size();
  if (questions.tasks) usage.tasks = count_tasks(processes);
  usage.socket_bytes = socket_memory_bytes(measured.init_host_pid);
  if (!questions.memory) return usage;
  const std::int64_t unmapped = unmapped_memory(measured, processes, stop);
  // More than the truth at first, which takes longer to find out.
  usage.memory_bytes = add_up(processes, resident_memory, unmapped, Overlap::kNone, stop).total;
  if (usage.memory_bytes <= questions.memory_bytes_max) return usage;
  const Sum truth = add_up(processes, proportional_memory, unmapped, Overlap::kWhatHasNames, stop);
  usage.memory_bytes = truth.total;
  if (truth.total > questions.memory_bytes_max && truth.largest >= 0) {
    usage.largest = hold_process(truth.largest, measured);
  }
  return usage;
}

DiskUsage measure_disk(const Measured& measured, std::int64_t files_max,
                       const std::stop_token& stop) {
  DiskUsage usage;
  for (const int directory : measured.directories) {
    const files::TreeUsage tree = files::tree_usage(directory, files_max, stop);
    usage.bytes += tree.bytes;
    usage.files += tree.files;
    if (tree.truncated) usage.complete = false;
    usage.unreadable += tree.unreadable;
    usage.below_floor = usage.below_floor || is_below_floor(directory);
  }
  DeletedFiles deleted = deleted_open_files(read_descendants(measured.init_host_pid), stop);
  usage.closed = std::move(deleted.closed);
  for (const DeletedFile& file : deleted.files) {
    if (!is_on(file.device, measured.directories)) continue;
    usage.deleted_bytes += file.bytes;
    ++usage.deleted_files;
  }
  usage.bytes += usage.deleted_bytes;
  usage.files += usage.deleted_files;
  return usage;
}

}  // namespace sandbox::box
