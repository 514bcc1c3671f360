// Limits say what a session may use. Every limit is finite; the defaults are the promise of the
// contract.
#pragma once

#include <cerrno>
#include <cstdint>

namespace sandbox {

struct Limits {
  std::int64_t memory_mb = 2048;  // processes, tmpfs and their page cache together
  std::int64_t cpus = 2;
  std::int64_t processes = 256;    // and threads: the kernel counts tasks
  std::int64_t disk_mb = 10240;    // workspace, home and /tmp together
  std::int64_t files = 200000;     // inodes of the same
  std::int64_t open_files = 1024;  // for each process
  std::int64_t run_seconds = 120;  // for a foreground run that names none
  std::int64_t output_mb = 64;     // for one stream of one run, kept in a file

  friend bool operator==(const Limits&, const Limits&) = default;
};

// A LimitRow says of one limit the name on the wire, where it lives, and its range.
struct LimitRow {
  const char* name;
  std::int64_t Limits::*member;
  std::int64_t least;
  std::int64_t most;
};

inline constexpr LimitRow kLimitRows[] = {
    {"memory_mb", &Limits::memory_mb, 64, 1 << 20},
    {"cpus", &Limits::cpus, 1, 1024},
    {"processes", &Limits::processes, 8, 32768},
    {"disk_mb", &Limits::disk_mb, 1, 1 << 24},
    {"files", &Limits::files, 100, 100000000},
    {"open_files", &Limits::open_files, 64, 1048576},
    {"run_seconds", &Limits::run_seconds, 1, 600},
    {"output_mb", &Limits::output_mb, 1, 4096},
};

// Returns limits that are each as high as hutch has it at all.
constexpr Limits widest_limits() {
  Limits widest;  // NOLINT(misc-const-correctness): changed through a member pointer
  for (const LimitRow& row : kLimitRows) widest.*row.member = row.most;
  return widest;
}

// Commands of other APIs are such runs, too; limits.processes bounds what they take.
inline constexpr int kBackgroundRunsMax = 64;
// This is the os_errno of the refusal of one more, with kLimit: each API says in its own words what
// ends one.
inline constexpr int kTooManyInBackground = EBUSY;
inline constexpr int kQueuedRunsMax = 64;
// The deadline of a run is at most this; one in the background may be without, until its session
// ends.
inline constexpr std::int64_t kRunSecondsMax = 600;
inline constexpr std::int64_t kCodeBytesMax = 1 << 20;

}  // namespace sandbox
