#include "sandbox/box/usage.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sandbox/box/deleted_files.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/files/tree.h"

namespace sandbox::box {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Hard links are names beside the inodes that the limit counts: what is linked from a cache has two
// or three.
constexpr std::int64_t kNamesEachFile = 4;
constexpr std::int64_t kNamesLeast = 100'000;
// A name takes 1.4 microseconds when the kernel has its inode at hand. Cold, and on a slow machine,
// it is several times that.
constexpr microseconds kCpuEachFile{20};
// Every process may have as many as `open_files`, and what moves is met twice. With the default
// limits that is as much as the most, which is more than any program has been seen to hold.
constexpr std::int64_t kDescriptorsMost = 524'288;
constexpr std::int64_t kDescriptorsLeast = 10'000;
constexpr microseconds kCpuEachDescriptor{10};  // measured: 3.5
// Itself, its place among children, a look for its own; and as much again.
constexpr std::int64_t kStepsEachTask = 6;
constexpr std::int64_t kTaskStepsLeast = 4096;
constexpr microseconds kCpuEachTaskStep{100};  // measured: 15
// Closed connections are remembered for a minute, beside the descriptors.
constexpr std::int64_t kSocketsMost = 524'288;
constexpr microseconds kCpuEachSocket{10};  // measured: 2

// What asking for the truth about memory may take of a look: the next one goes on with it.
constexpr milliseconds kAskingTime{100};
// Descriptors are looked at for memory files as often as costs a fifth of a processor, and at least
// every two seconds.
constexpr int kDescriptorRestFactor = 4;
constexpr seconds kDescriptorRestMax{2};

base::WorkBudget::Bounds bounds_of(std::int64_t steps, microseconds cpu_each) {
  return {.steps = steps, .cpu_time = cpu_each * steps};
}

std::vector<dev_t> devices_of(const std::vector<int>& mounts) {
  std::vector<dev_t> devices;
  for (const int mount : mounts) {
    struct stat status {};
    if (::fstat(mount, &status) == 0) devices.push_back(status.st_dev);
  }
  return devices;
}

bool is_on(dev_t device, const std::vector<dev_t>& devices) {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
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

void add_deleted(const Measured& measured, const LookBounds& bounds, DiskUsage& usage,
                 const std::stop_token& stop) {
  base::WorkBudget processes_budget(bounds.processes);
  base::WorkBudget descriptors_budget(bounds.descriptors);
  const auto processes = read_descendants(measured.init_host_pid, processes_budget);
  DeletedFiles deleted = deleted_open_files(processes, descriptors_budget, stop);
  if (processes_budget.spent()) usage.uncountable = Uncountable::kProcesses;
  if (descriptors_budget.spent()) usage.uncountable = Uncountable::kDescriptors;
  if (processes_budget.spent() || descriptors_budget.spent()) usage.complete = false;
  usage.closed = std::move(deleted.closed);
  const std::vector<dev_t> devices = devices_of(measured.directories);
  for (const DeletedFile& file : deleted.files) {
    if (!is_on(file.device, devices)) continue;
    usage.deleted_bytes += file.bytes;
    ++usage.deleted_files;
  }
}

}  // namespace

LookBounds look_bounds(const Limits& limits) {
  LookBounds bounds;
  const std::int64_t names = std::max(limits.files * kNamesEachFile, kNamesLeast);
  bounds.names = {.steps = names, .cpu_time = kCpuEachFile * (names / kNamesEachFile)};
  const std::int64_t descriptors =
      std::clamp(2 * limits.processes * limits.open_files, kDescriptorsLeast, kDescriptorsMost);
  bounds.descriptors = bounds_of(descriptors, kCpuEachDescriptor);
  bounds.processes =
      bounds_of(std::max(limits.processes * kStepsEachTask, kTaskStepsLeast), kCpuEachTaskStep);
  bounds.sockets = bounds_of(kSocketsMost, kCpuEachSocket);
  return bounds;
}

const char* reason_of(Uncountable what) {
  switch (what) {
    case Uncountable::kNames:
      return "its files have more names (hard links), or are slower to look through, than its "
             "limit "
             "of files allows for, so that they could not be counted";
    case Uncountable::kDescriptors:
      return "its processes and threads held more descriptors than its limits of processes and "
             "open_files allow for, so that what they hold open could not be counted";
    case Uncountable::kProcesses:
      return "its processes and threads came and went faster than they could be counted";
    default:
      return "a directory or a process was made unreadable again and again, so that its files "
             "could "
             "not be counted";
  }
}

ProcessLooks::ProcessLooks(Measured measured, const Limits& limits)
    : measured_(std::move(measured)),
      bounds_(look_bounds(limits)),
      socket_bounds_(read_socket_bounds(limits.memory_mb << 20)),
      memory_bytes_max_(limits.memory_mb << 20) {}

std::int64_t ProcessLooks::unmapped_memory(const std::vector<pid_t>& processes,
                                           const std::stop_token& stop) {
  if (Clock::now() >= next_descriptor_look_) {
    const auto started = base::thread_cpu_time();
    base::WorkBudget budget(bounds_.descriptors);
    const std::vector<dev_t> disk = devices_of(measured_.directories);
    const std::vector<dev_t> tmpfs = devices_of(measured_.tmpfs);
    open_memory_files_bytes_ = 0;
    for (const DeletedFile& file : deleted_open_files(processes, budget, stop).files) {
      // statfs(2) has counted what lies on the box's tmpfs.
      if (is_on(file.device, disk) || is_on(file.device, tmpfs)) continue;
      open_memory_files_bytes_ += file.bytes;
    }
    const auto took = base::thread_cpu_time() - started;
    next_descriptor_look_ =
        Clock::now() + std::min<Clock::duration>(took * kDescriptorRestFactor, kDescriptorRestMax);
  }
  return tmpfs_bytes(measured_.tmpfs) + open_memory_files_bytes_;
}

ProcessUsage ProcessLooks::look(const Questions& questions, const std::stop_token& stop) {
  ProcessUsage usage;
  base::WorkBudget budget(bounds_.processes);
  const std::vector<pid_t> processes = read_descendants(measured_.init_host_pid, budget);
  usage.uncountable = budget.spent();
  usage.processes = processes.size();
  if (questions.tasks) usage.tasks = count_tasks(processes);
  base::WorkBudget socket_budget(bounds_.sockets);
  usage.sockets = measure_sockets(measured_.init_host_pid, socket_bounds_, socket_budget);
  if (!questions.memory) return usage;
  const MemoryLedger::Sum sum = ledger_.look(
      processes, {memory_bytes_max_, unmapped_memory(processes, stop), kAskingTime}, stop);
  usage.memory_bytes = sum.bytes;
  if (sum.largest >= 0) usage.largest = hold_process(sum.largest, measured_);
  return usage;
}

DiskUsage measure_disk(const Measured& measured, const Limits& limits, const DiskUsage& before,
                       const std::stop_token& stop) {
  DiskUsage usage;
  const LookBounds bounds = look_bounds(limits);
  base::WorkBudget names(bounds.names);
  bool unreadable = false;  // again and again
  for (const int directory : measured.directories) {
    // Beyond the limit, so that growth can still be seen.
    const files::TreeUsage tree = files::tree_usage(directory, 2 * limits.files + 1, names, stop);
    usage.bytes += tree.bytes;
    usage.files += tree.files;
    if (tree.truncated) usage.complete = false;
    unreadable = unreadable || tree.unreadable > 0;
  }
  if (unreadable) usage.uncountable = Uncountable::kClosed;
  if (names.spent()) usage.uncountable = Uncountable::kNames;
  const bool beyond = usage.bytes > limits.disk_mb << 20 || usage.files > limits.files;
  const bool grown = usage.bytes > before.bytes - before.deleted_bytes ||
                     usage.files > before.files - before.deleted_files;
  if (beyond && grown) {
    usage.deleted_bytes = before.deleted_bytes;
    usage.deleted_files = before.deleted_files;
  } else {
    add_deleted(measured, bounds, usage, stop);
  }
  usage.bytes += usage.deleted_bytes;
  usage.files += usage.deleted_files;
  return usage;
}

}  // namespace sandbox::box
