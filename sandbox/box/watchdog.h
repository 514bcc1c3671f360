// Watches what no kernel limit holds on this host (memory and processes without a cgroup, the
// disk), and programs that go on against a limit which the kernel does hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "base/result.h"
#include "sandbox/box/disk_promises.h"
#include "sandbox/box/disk_room.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/side_thread.h"
#include "sandbox/box/usage.h"
#include "sandbox/limits.h"
#include "sandbox/unfinished_uploads.h"

namespace sandbox::box {

// Code in the box can make a look take long, so no rest after one is longer than this.
inline constexpr std::chrono::milliseconds kRestMax{2000};

// Returns how long the watch rests after a look that took so much processor time: `factor` times as
// long. One that had to wait for a processor has cost nobody anything.
std::chrono::nanoseconds rest_after(std::chrono::nanoseconds took, int factor);

class Watchdog {
 public:
  struct Watched {
    Measured measured;
    bool memory = false;                        // no cgroup holds it
    bool processes = false;                     // no cgroup counts those that were refused
    bool disk = true;                           // no quota holds it
    std::function<bool()> busy;                 // whether runs are on
    std::function<bool()> frozen;               // whether nothing can run
    std::function<void()> looks = [] {};        // called many times a second while runs are on
    std::function<std::size_t()> interpreters;  // processes that are there without a run
    // Both count since the start of the box, as far as the kernel tells.
    std::function<std::int64_t()> oom_kills;
    std::function<std::int64_t()> pids_refused;
    std::function<std::int64_t()> quota_bytes;   // that a quota counts, where one holds the disk
    std::function<std::int64_t()> kept_bytes;    // the session's, beside its directories
    std::function<std::int64_t()> upload_bytes;  // that are promised to unfinished uploads
    std::function<void(DiskLimit)> disk_limit_reached;  // and it does not get better by itself
    std::function<void()> disk_room_low;  // the host's, and the session goes on writing
    std::function<void(Uncountable)> disk_uncountable;    // again and again
    std::function<void(SocketMemory)> sockets_too_large;  // more waits in them than may
    std::function<void()> process_limit_reached;          // again and again, for half a second
    std::function<void()> processes_refused = [] {};      // to a run, and the table is full
    std::function<void()> processes_uncountable;  // they come and go faster than they are counted
    std::function<void()> memory_ran_out;         // something was killed, and its run goes on
    // Both measure, unless somebody else says it. The last is called on a thread beside.
    std::function<DiskRoom()> room;
    std::function<DiskUsage(const DiskUsage& before, const std::stop_token& stop,
                            const std::stop_token& hurry)>
        disk_usage;
  };

  static base::Result<std::unique_ptr<Watchdog>> start(EventLoop& loop, const Limits& limits,
                                                       Watched watched);
  ~Watchdog();

  // Processes ended here because the session's memory was used up.
  [[nodiscard]] std::int64_t oom_kills() const { return oom_kills_; }

  // Returns the most that a look has seen; 0 where a cgroup holds the memory.
  [[nodiscard]] std::int64_t memory_peak_bytes() const { return memory_peak_bytes_; }

  // Returns what the last look has found; 0 where a cgroup holds the memory.
  [[nodiscard]] std::int64_t memory_bytes() const { return memory_bytes_; }

  // Returns what the last look has found; 0 where a quota holds the disk.
  [[nodiscard]] std::int64_t disk_bytes() const { return last_disk_.bytes; }

  // Returns how often the process table was seen full, where no cgroup counts refusals; looks once
  // more.
  std::int64_t times_full();

  // Takes room for what somebody else is about to write: a file is counted as taken until
  // disk_written() says that it is there and a look has counted it, and an upload by upload_bytes.
  // kLimit when there is none, and then it looks again soon.
  base::Status take_disk_room(std::int64_t bytes, RoomFor what);
  // A file that took so much room is written, or will not be.
  void disk_written(std::int64_t bytes);
  // Nobody is left who could say so.
  void writers_are_gone() { promises_.all_written(); }

  // A run begins, or goes on, or somebody writes: looks soon, not at the next slow round.
  void wake();
  // A run begins, and has written nothing yet.
  void run_begins();
  // A run has ended. Others that are on have not written what it has.
  void run_ends();
  // Who filled the process table was ended: what looks have seen of it until now is no later run's.
  void processes_ended();

 private:
  using Clock = std::chrono::steady_clock;

  Watchdog(EventLoop& loop, const Limits& limits, Watched watched,
           std::unique_ptr<SideThread> processes_side, std::unique_ptr<SideThread> disk_side,
           std::unique_ptr<SideThread> memory_files_side);

  void tick();
  void look_at_processes();
  void look_at_memory_files();
  void look_at_disk();
  bool look_at_room();
  void set_timer(std::chrono::milliseconds pause);
  [[nodiscard]] std::chrono::milliseconds interval() const;
  void check_memory(const ProcessUsage& usage);
  void check_processes(const ProcessUsage& usage);
  [[nodiscard]] bool is_full(const ProcessUsage& usage) const;
  void check_oom_kills();
  void check_disk(DiskUsage usage);
  [[nodiscard]] bool is_written_since_begin(const DiskUsage& usage) const;
  [[nodiscard]] std::optional<DiskLimit> exceeded(std::int64_t bytes, std::int64_t files) const;
  [[nodiscard]] std::int64_t upload_bytes() const;
  void tell_what_is_uncountable(const DiskUsage& usage);
  void check_floor(bool writing);
  void check_floor_between_looks(bool loses_room);
  void check_floor_of_quota();

  EventLoop& loop_;
  const Limits& limits_;
  Watched watched_;
  EventLoop::TimerId timer_ = 0;
  std::int64_t oom_kills_ = 0;
  std::int64_t memory_peak_bytes_ = 0;
  std::int64_t memory_bytes_ = 0;
  std::size_t processes_ = 0;  // at the last look
  Clock::time_point next_process_look_{};
  Clock::time_point next_memory_files_look_{};
  std::int64_t memory_files_bytes_ = 0;
  Clock::time_point next_disk_look_{};
  Clock::time_point disk_looked_at_{};
  DiskUsage last_disk_;
  std::int64_t last_upload_bytes_ = 0;  // the part of last_disk_.bytes that is promised to uploads
  DiskRoom room_;                       // at the last tick
  DiskRoom room_at_look_;               // when the last look at the disk began
  std::stop_source hurry_;              // tells the look at the disk that is on
  bool hurried_ = false;                // since the last one that came to its end
  Clock::time_point next_asked_look_{};
  DiskPromises promises_;      // to writers outside
  bool disk_is_used_ = false;  // a run, or somebody outside, since the last look
  bool disk_is_filling_ = false;
  bool disk_limit_told_ = false;  // by the last look
  // The run began after others had written, and no look had seen what.
  bool began_after_writes_ = false;
  std::int64_t run_began_ns_ = 0;    // by the clock of files; 0 once a run has ended
  std::int64_t look_since_ns_ = 0;   // is run_began_ns_ as it was when the look that is on began
  bool is_first_look_ = false;       // at such a run
  bool looks_again_ = false;         // soon, for what that has seen
  bool run_has_written_it_ = false;  // true of bytes beyond the limit that it has seen
  bool over_disk_limit_ = false;
  bool writes_below_floor_ = false;
  int ticks_below_floor_ = 0;  // that lost room, since the last look that came to its end
  Clock::time_point below_floor_since_{};
  std::optional<std::int64_t> quota_bytes_;  // at the last tick, below the floor
  int uncountable_looks_ = 0;                // in a row
  int uncountable_process_looks_ = 0;
  std::int64_t times_full_ = 0;
  std::int64_t last_refused_ = 0;
  int times_ended_ = 0;                         // processes_ended()
  std::optional<std::int64_t> refused_before_;  // while something is being refused
  Clock::time_point refused_since_{};
  std::int64_t last_oom_kills_ = 0;
  std::optional<Clock::time_point> oom_seen_at_;
  bool awake_ = false;
  ProcessLooks process_looks_;  // used by processes_side_ alone
  // They are last, so that what they still do has the rest. A look at the disk, or at what is held
  // open, may take long, and the looks at the memory must not wait for it.
  std::unique_ptr<SideThread> processes_side_;
  std::unique_ptr<SideThread> disk_side_;
  std::unique_ptr<SideThread> memory_files_side_;
};

}  // namespace sandbox::box
