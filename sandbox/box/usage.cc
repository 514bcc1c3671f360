#include "sandbox/box/usage.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/box/deleted_files.h"
#include "sandbox/box/process_tree.h"
#include "sandbox/files/tree.h"

namespace sandbox::box {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

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

// Asking for the truth about memory may take this much of a look: the next one goes on with it.
constexpr milliseconds kAskingTime{100};
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

// Returns the bytes that a process has caused to be written to disks, by proc_pid_io(5); 0 where
// that is not told.
std::int64_t written_bytes(pid_t pid) {
  constexpr std::string_view kName = "write_bytes: ";
  std::ifstream io("/proc/" + std::to_string(pid) + "/io");
  for (std::string line; std::getline(io, line);) {
    if (line.starts_with(kName)) return std::strtoll(line.c_str() + kName.size(), nullptr, 10);
  }
  return 0;
}

// Who has written most holds most, most likely.
void sort_by_writing(std::vector<pid_t>& processes) {
  std::vector<std::pair<std::int64_t, pid_t>> writers;
  writers.reserve(processes.size());
  for (const pid_t pid : processes) writers.emplace_back(written_bytes(pid), pid);
  std::sort(writers.begin(), writers.end(), std::greater<>());
  std::transform(writers.begin(), writers.end(), processes.begin(),
                 [](const auto& writer) { return writer.second; });
}

// Ends early once it is beyond a limit and has grown.
void add_deleted(const Measured& measured, const Limits& limits, const DiskUsage& before,
                 const std::stop_token& hurry, DiskUsage& usage) {
  const LookBounds bounds = look_bounds(limits);
  base::WorkBudget processes_budget(bounds.processes);
  base::WorkBudget descriptors_budget(bounds.descriptors);
  auto processes = read_descendants(measured.init_host_pid, processes_budget);
  sort_by_writing(processes);
  const std::vector<dev_t> devices = devices_of(measured.directories);
  const std::int64_t bytes_most = std::max(limits.disk_mb << 20, before.bytes);
  const std::int64_t files_most = std::max(limits.files, before.files);
  bool is_beyond = false;
  DeletedFiles deleted =
      deleted_open_files(processes, descriptors_budget, hurry, [&](const DeletedFile& file) {
        if (!is_on(file.device, devices)) return false;
        usage.deleted_bytes += file.bytes;
        ++usage.deleted_files;
        is_beyond = usage.bytes + usage.deleted_bytes > bytes_most ||
                    usage.files + usage.deleted_files > files_most;
        return is_beyond;
      });
  usage.closed = std::move(deleted.closed);
  usage.cut_short = hurry.stop_requested() && !is_beyond;
  if (processes_budget.spent()) usage.uncountable = Uncountable::kProcesses;
  if (descriptors_budget.spent()) usage.uncountable = Uncountable::kDescriptors;
  if (is_beyond || processes_budget.spent() || descriptors_budget.spent()) usage.complete = false;
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

std::int64_t counted_files_most(const Limits& limits) {
  // The counting of names allows three directories, with room for other names.
  constexpr std::int64_t kLeast = 3 * kNamesLeast / 10;
  return std::max(2 * limits.files, kLeast);
}

const char* reason_of(Uncountable what) {
  switch (what) {
    case Uncountable::kNames:
      return "its files have more names (hard links), or are slower to look through, than its "
             "limit of files allows for, so that they could not be counted";
    case Uncountable::kDescriptors:
      return "its processes and threads held more descriptors than are looked through (twice "
             "processes times open_files, and half a million at most), so that what they hold open "
             "could not be counted";
    case Uncountable::kProcesses:
      return "its processes and threads came and went faster than they could be counted";
    default:
      return "a directory or a process was made unreadable again and again, so that its files "
             "could not be counted";
  }
}

ProcessLooks::ProcessLooks(Measured measured, const Limits& limits)
    : measured_(std::move(measured)),
      limits_(limits),
      bounds_(look_bounds(limits)),
      socket_bounds_(read_socket_bounds(limits.memory_mb << 20)),
      memory_bytes_max_(limits.memory_mb << 20) {}

std::int64_t measure_memory_files(const Measured& measured, const Limits& limits,
                                  const std::stop_token& stop) {
  const LookBounds bounds = look_bounds(limits);
  base::WorkBudget processes_budget(bounds.processes);
  base::WorkBudget descriptors_budget(bounds.descriptors);
  const auto processes = read_descendants(measured.init_host_pid, processes_budget);
  const std::vector<dev_t> disk = devices_of(measured.directories);
  const std::vector<dev_t> tmpfs = devices_of(measured.tmpfs);
  std::int64_t bytes = 0;
  for (const DeletedFile& file : deleted_open_files(processes, descriptors_budget, stop).files) {
    // statfs(2) counts what lies on the box's tmpfs.
    if (!is_on(file.device, disk) && !is_on(file.device, tmpfs)) bytes += file.bytes;
  }
  return bytes;
}

// How long a look takes is others' to choose, too: the kernel goes through all sockets of the host.
// So a twentieth of a CPU is what it may take, unless a look takes more than a tenth of a second:
// no rest is longer than two.
SocketMemory ProcessLooks::look_at_sockets() {
  constexpr int kRestFactor = 20;
  constexpr std::chrono::nanoseconds kRestMax = std::chrono::seconds(2);
  if (std::chrono::steady_clock::now() < next_look_at_sockets_) return SocketMemory::kWithin;
  const auto started = base::thread_cpu_time();
  base::WorkBudget budget(bounds_.sockets);
  const SocketMemory found = measure_sockets(measured_.init_host_pid, socket_bounds_, budget);
  const auto rest = std::min((base::thread_cpu_time() - started) * kRestFactor, kRestMax);
  next_look_at_sockets_ = std::chrono::steady_clock::now() +
                          std::chrono::duration_cast<std::chrono::steady_clock::duration>(rest);
  return found;
}

ProcessUsage ProcessLooks::look(const Questions& questions, const std::stop_token& stop) {
  ProcessUsage usage;
  base::WorkBudget budget(bounds_.processes);
  const std::vector<pid_t> processes = read_descendants(measured_.init_host_pid, budget);
  usage.uncountable = budget.spent();
  usage.processes = processes.size();
  if (questions.tasks) usage.tasks = count_tasks(processes);
  usage.sockets = look_at_sockets();
  if (!questions.memory) return usage;
  const auto look_at_memory = [&](std::int64_t memory_files_bytes) {
    const std::int64_t unmapped = tmpfs_bytes(measured_.tmpfs) + memory_files_bytes;
    return ledger_.look(processes, {memory_bytes_max_, unmapped, kAskingTime}, stop);
  };
  MemoryLedger::Sum sum = look_at_memory(questions.memory_files_bytes);
  if (sum.largest >= 0 && questions.memory_files_bytes > 0) {
    // They may be gone by now, and nobody is ended for what was there.
    sum = look_at_memory(measure_memory_files(measured_, limits_, stop));
  }
  usage.memory_bytes = sum.bytes;
  if (sum.largest >= 0) usage.largest = hold_process(sum.largest, measured_);
  return usage;
}

DiskUsage measure_disk(const Measured& measured, const Limits& limits, const DiskUsage& before,
                       const std::stop_token& stop, const std::stop_token& hurry) {
  DiskUsage usage;
  base::WorkBudget names(look_bounds(limits).names);
  bool unreadable = false;  // again and again
  for (const int directory : measured.directories) {
    const files::TreeUsage tree =
        files::tree_usage(directory, counted_files_most(limits) + 1, names, stop, before.since_ns);
    usage.bytes += tree.bytes;
    usage.files += tree.files;
    usage.changed_bytes += tree.changed_bytes;
    usage.changed_files += tree.changed_files;
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
    add_deleted(measured, limits, before, hurry, usage);
  }
  usage.bytes += usage.deleted_bytes;
  usage.files += usage.deleted_files;
  return usage;
}

}  // namespace sandbox::box
