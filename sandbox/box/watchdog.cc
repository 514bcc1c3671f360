#include "sandbox/box/watchdog.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/work_budget.h"
#include "sandbox/box/file_changes.h"
#include "sandbox/box/process_tree.h"

namespace sandbox::box {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBusyInterval{100};
constexpr milliseconds kLeftBehindInterval{1000};
// Threads of an interpreter may be at work, which look as it does when it waits.
constexpr milliseconds kIdleInterval{2000};
constexpr milliseconds kFrozenInterval{5000};
// Where no run is on and all processes are interpreters, files are looked through as seldom as
// that. A thread that a run has left in one may write all the same, so each tick asks the host's
// file system: when it has lost as much as the session had left, or anything below the floor, the
// session is looked through as a busy one. What others free meanwhile can hide that, for no longer
// than this. A frozen session runs nothing, and could not be ended before it goes on.
constexpr milliseconds kIdleDiskInterval{5000};
constexpr milliseconds kDiskInterval{500};
constexpr milliseconds kAskedInterval{1000};
constexpr milliseconds kOomGrace{300};
constexpr milliseconds kBombWindow{500};
constexpr std::int64_t kBombRefusals = 10;
// One may be an accident: a directory that is closed while it is removed.
constexpr int kUncountableLooks = 2;
// Looking may take this part of a CPU: a twentieth for the disk, a fifth for the processes.
constexpr int kDiskRestFactor = 20;
constexpr int kProcessRestFactor = 4;
// Below the floor a session whose looks take longer than this is ended without them.
constexpr milliseconds kFloorPatience{2000};
constexpr int kTicksBelowFloor = 2;

}  // namespace

std::chrono::nanoseconds rest_after(std::chrono::nanoseconds took, int factor) {
  return std::min<std::chrono::nanoseconds>(took * factor, kRestMax);
}

base::Result<std::unique_ptr<Watchdog>> Watchdog::start(EventLoop& loop, const Limits& limits,
                                                        Watched watched) {
  auto processes_side = TRY(SideThread::create(loop));
  auto disk_side = TRY(SideThread::create(loop));
  auto memory_files_side = TRY(SideThread::create(loop));
  std::unique_ptr<Watchdog> watchdog(new Watchdog(loop, limits, std::move(watched),
                                                  std::move(processes_side), std::move(disk_side),
                                                  std::move(memory_files_side)));
  watchdog->set_timer(kIdleInterval);
  return watchdog;
}

Watchdog::Watchdog(EventLoop& loop, const Limits& limits, Watched watched,
                   std::unique_ptr<SideThread> processes_side,
                   std::unique_ptr<SideThread> disk_side,
                   std::unique_ptr<SideThread> memory_files_side)
    : loop_(loop),
      limits_(limits),
      watched_(std::move(watched)),
      process_looks_(watched_.measured, limits),
      processes_side_(std::move(processes_side)),
      disk_side_(std::move(disk_side)),
      memory_files_side_(std::move(memory_files_side)) {
  if (!watched_.room) {
    watched_.room = [this] { return measure_room(watched_.measured.directories); };
  }
  if (!watched_.disk_usage) {
    watched_.disk_usage = [this](const DiskUsage& before, const std::stop_token& stop,
                                 const std::stop_token& hurry) {
      return measure_disk(watched_.measured, limits_, before, stop, hurry);
    };
  }
}

Watchdog::~Watchdog() { loop_.cancel(timer_); }

void Watchdog::set_timer(milliseconds pause) {
  loop_.cancel(timer_);
  timer_ = loop_.after(pause, [this] { tick(); });
}

void Watchdog::wake() {
  disk_is_used_ = true;
  if (awake_) return;
  awake_ = true;
  set_timer(kBusyInterval);
}

void Watchdog::run_begins() {
  if (!disk_is_used_ && !disk_limit_told_) return;
  if (run_began_ns_ == 0) run_began_ns_ = FileChanges::file_time_ns();
  began_after_writes_ = true;
}

void Watchdog::run_ends() {
  run_began_ns_ = look_since_ns_ = 0;
  run_has_written_it_ = false;
}

void Watchdog::processes_ended() {
  ++times_ended_;
  uncountable_process_looks_ = 0;
  refused_before_.reset();
  if (!watched_.processes) last_refused_ = watched_.pids_refused();
}

void Watchdog::tick() {
  timer_ = 0;
  check_oom_kills();
  if (!processes_side_->busy() && Clock::now() >= next_process_look_) look_at_processes();
  if (watched_.memory && !memory_files_side_->busy() && Clock::now() >= next_memory_files_look_) {
    look_at_memory_files();
  }
  const milliseconds pause = interval();
  const bool has_lost_room = look_at_room();
  const bool is_idle = pause >= kIdleInterval && !has_lost_room && !disk_is_used_;
  if (watched_.busy()) watched_.looks();
  const auto disk_due =
      is_idle ? std::max(next_disk_look_, disk_looked_at_ + kIdleDiskInterval) : next_disk_look_;
  if (watched_.disk && Clock::now() >= disk_due && !disk_side_->busy()) look_at_disk();
  awake_ = pause == kBusyInterval;
  set_timer(pause);
}

milliseconds Watchdog::interval() const {
  if (watched_.busy() || disk_is_filling_ || writes_below_floor_ || refused_before_ ||
      uncountable_looks_ > 0 || uncountable_process_looks_ > 0) {
    return kBusyInterval;
  }
  // Something that a run left behind may be at work.
  if (processes_ > watched_.interpreters()) return kLeftBehindInterval;
  return watched_.frozen() ? kFrozenInterval : kIdleInterval;
}

void Watchdog::look_at_processes() {
  ProcessLooks::Questions questions;
  questions.tasks = watched_.processes ? watched_.busy() : refused_before_.has_value();
  questions.memory = watched_.memory;
  questions.memory_files_bytes = memory_files_bytes_;
  processes_side_->run([this, questions, times_ended = times_ended_](
                           const std::stop_token& stop) -> std::function<void()> {
    const auto started = base::thread_cpu_time();
    auto usage = std::make_shared<ProcessUsage>(process_looks_.look(questions, stop));
    return [this, usage, times_ended, took = base::thread_cpu_time() - started] {
      next_process_look_ = Clock::now() + rest_after(took, kProcessRestFactor);
      processes_ = usage->processes;
      if (watched_.memory) check_memory(*usage);
      if (times_ended == times_ended_) check_processes(*usage);
      if (usage->sockets != SocketMemory::kWithin) watched_.sockets_too_large(usage->sockets);
    };
  });
}

void Watchdog::look_at_memory_files() {
  memory_files_side_->run([this](const std::stop_token& stop) -> std::function<void()> {
    const auto started = base::thread_cpu_time();
    const std::int64_t bytes = measure_memory_files(watched_.measured, limits_, stop);
    return [this, bytes, took = base::thread_cpu_time() - started] {
      next_memory_files_look_ = Clock::now() + rest_after(took, kProcessRestFactor);
      memory_files_bytes_ = bytes;
    };
  });
}

void Watchdog::look_at_disk() {
  promises_.look_begins(Clock::now());
  disk_is_used_ = false;
  is_first_look_ = std::exchange(began_after_writes_, false);
  look_since_ns_ = std::exchange(run_began_ns_, 0);
  last_disk_.since_ns = look_since_ns_;
  room_at_look_ = room_;
  // One that follows a look which was cut short goes on with that one's time.
  if (!hurried_) ticks_below_floor_ = 0;
  hurry_ = std::stop_source();
  disk_side_->run([this, before = last_disk_,
                   hurry = hurry_](const std::stop_token& stop) -> std::function<void()> {
    const auto started = base::thread_cpu_time();
    const std::stop_callback stops(stop, [&hurry] { (void)hurry.request_stop(); });
    const DiskUsage usage = watched_.disk_usage(before, stop, hurry.get_token());
    return [this, usage, took = base::thread_cpu_time() - started] {
      disk_looked_at_ = Clock::now();
      if (usage.cut_short) {
        next_disk_look_ = disk_looked_at_;
        began_after_writes_ = began_after_writes_ || is_first_look_;
        if (look_since_ns_ != 0) run_began_ns_ = look_since_ns_;
        return;
      }
      hurried_ = false;
      ticks_below_floor_ = 0;
      promises_.look_has_counted();
      check_disk(usage);
      const bool at_once = writes_below_floor_ || uncountable_looks_ > 0 || looks_again_;
      const auto rest = std::max<Clock::duration>(kDiskInterval, rest_after(took, kDiskRestFactor));
      next_disk_look_ = disk_looked_at_ + (at_once ? Clock::duration(kBusyInterval) : rest);
    };
  });
}

// The rest after a look ends when the host has lost as much room as the session had left, which it
// may have written, and when it loses what it keeps for itself. A look that is on is cut short,
// once, so that what has a name is counted first: that takes less time, and mostly it is the one.
// Returns whether so much was lost.
bool Watchdog::look_at_room() {
  if (!watched_.disk) {
    check_floor_of_quota();
    return false;
  }
  const DiskRoom before = std::exchange(room_, watched_.room());
  check_floor_between_looks(room_.below_floor && lost_bytes(before, room_) > 0);
  const std::int64_t lost = lost_bytes(room_at_look_, room_);
  const std::int64_t bytes_left = (limits_.disk_mb << 20) - last_disk_.bytes;
  const std::int64_t files_left = limits_.files - last_disk_.files;
  const bool may_be_over = lost > std::max<std::int64_t>(bytes_left, 0) ||
                           lost_files(room_at_look_, room_) > std::max<std::int64_t>(files_left, 0);
  if (!may_be_over && !(room_.below_floor && lost > 0)) return false;
  if (disk_side_->busy() && !std::exchange(hurried_, true)) (void)hurry_.request_stop();
  next_disk_look_ = std::min(next_disk_look_, disk_looked_at_ + kDiskInterval);
  return true;
}

void Watchdog::check_memory(const ProcessUsage& usage) {
  memory_bytes_ = usage.memory_bytes;
  memory_peak_bytes_ = std::max(memory_peak_bytes_, usage.memory_bytes);
  if (!usage.largest.valid()) return;
  // Gone by itself meanwhile: then it has made the room.
  if (::syscall(SYS_pidfd_send_signal, usage.largest.get(), SIGKILL, nullptr, 0) == 0) {
    ++oom_kills_;
  }
}

// A program whose child was killed often waits for it for ever; one whose interpreter was killed
// has ended by now, with that cause.
void Watchdog::check_oom_kills() {
  const std::int64_t kills = oom_kills_ + watched_.oom_kills();
  if (kills > last_oom_kills_ && !oom_seen_at_) oom_seen_at_ = Clock::now();
  last_oom_kills_ = kills;
  if (!oom_seen_at_ || Clock::now() - *oom_seen_at_ < kOomGrace) return;
  oom_seen_at_.reset();
  watched_.memory_ran_out();
}

// Meeting the limit is an error that a program may handle; filling the table and going on is a
// bomb. Without a run only what is refused right now counts: an interpreter may keep idle threads.
void Watchdog::check_processes(const ProcessUsage& usage) {
  uncountable_process_looks_ = usage.uncountable ? uncountable_process_looks_ + 1 : 0;
  if (uncountable_process_looks_ >= kUncountableLooks) {
    uncountable_process_looks_ = 0;
    watched_.processes_uncountable();
  }
  const std::int64_t refused = watched_.processes ? 0 : watched_.pids_refused();
  const bool refusing = refused > last_refused_;
  if (watched_.processes && is_full(usage)) ++times_full_;
  const bool suspicious = watched_.processes ? watched_.busy() && is_full(usage) : refusing;
  if (suspicious && !refused_before_) {
    refused_before_ = last_refused_;
    refused_since_ = Clock::now();
  }
  last_refused_ = refused;
  if (!refused_before_ || Clock::now() - refused_since_ < kBombWindow) return;
  const bool many = watched_.processes || refused - *refused_before_ >= kBombRefusals;
  refused_before_.reset();
  const bool run_is_refused = watched_.busy() && is_full(usage);
  if (many && (watched_.busy() ? run_is_refused : refusing)) {
    watched_.process_limit_reached();
  } else if (run_is_refused) {
    watched_.processes_refused();
  }
}

bool Watchdog::is_full(const ProcessUsage& usage) const {
  return usage.tasks >= limits_.processes - 1;
}

std::int64_t Watchdog::times_full() {
  ProcessUsage now;
  now.tasks = count_tasks(read_descendants(watched_.measured.init_host_pid));
  if (is_full(now)) ++times_full_;
  return times_full_;
}

void Watchdog::tell_what_is_uncountable(const DiskUsage& usage) {
  const bool hides = std::any_of(usage.closed.begin(), usage.closed.end(), [this](pid_t pid) {
    return std::find(last_disk_.closed.begin(), last_disk_.closed.end(), pid) !=
           last_disk_.closed.end();
  });
  uncountable_looks_ = usage.uncountable == Uncountable::kNothing ? 0 : uncountable_looks_ + 1;
  if (uncountable_looks_ < kUncountableLooks && !hides) return;
  uncountable_looks_ = 0;
  watched_.disk_uncountable(hides ? Uncountable::kClosed : usage.uncountable);
}

std::optional<DiskLimit> Watchdog::exceeded(std::int64_t bytes, std::int64_t files) const {
  const bool too_large = bytes > limits_.disk_mb << 20;
  const bool too_many = files > limits_.files;
  if (too_large && too_many) return DiskLimit::kBytesAndFiles;
  if (too_large) return DiskLimit::kBytes;
  if (too_many) return DiskLimit::kFiles;
  return std::nullopt;
}

void Watchdog::check_disk(DiskUsage usage) {
  if (watched_.kept_bytes) usage.bytes += watched_.kept_bytes();
  last_upload_bytes_ = upload_bytes();
  usage.bytes += last_upload_bytes_;
  tell_what_is_uncountable(usage);
  // Files that were moved under the count are still there: a program cannot hide them by moving.
  if (!usage.complete) {
    usage.bytes = std::max(usage.bytes, last_disk_.bytes);
    usage.files = std::max(usage.files, last_disk_.files);
  }
  const bool over_without_deleted =
      exceeded(usage.bytes - usage.deleted_bytes, usage.files - usage.deleted_files).has_value();
  // A walk that could not get to the end has too many to count, and counts as growing.
  const bool growing = usage.bytes > last_disk_.bytes || usage.files > last_disk_.files ||
                       usage.files > counted_files_most(limits_);
  const bool was_over = over_disk_limit_;
  // The look has seen, at least in part, what an earlier run has written, and maybe not all of it.
  const bool run_began_meanwhile = began_after_writes_;
  check_floor(room_.below_floor && usage.bytes > last_disk_.bytes);
  last_disk_ = usage;
  const std::optional<DiskLimit> limit = exceeded(usage.bytes, usage.files);
  over_disk_limit_ = limit.has_value() && (was_over || !run_began_meanwhile);
  // A run that makes room may go on. What has no name any more goes only with the processes that
  // hold it open; without a run, what grows must be seen growing twice.
  const bool stuck = limit.has_value() && (growing || !over_without_deleted ||
                                           std::exchange(run_has_written_it_, false));
  disk_is_filling_ = stuck;
  // Bytes that were written between the last look and the end it led to are not the next run's.
  const bool settled = !disk_limit_told_;
  // Neither are those that an earlier run wrote at its end: the next look, soon, tells who goes on.
  // Where as much has changed since this run began, it need not write more to be ended.
  looks_again_ = stuck && ((is_first_look_ && !was_over) || run_began_meanwhile || !settled);
  run_has_written_it_ = looks_again_ && is_written_since_begin(usage);
  disk_limit_told_ = stuck && settled && !looks_again_ && (watched_.busy() || was_over);
  if (disk_limit_told_) watched_.disk_limit_reached(*limit);
}

// A file counts whole that the run has only added to: the session is beyond its limit in any case.
bool Watchdog::is_written_since_begin(const DiskUsage& usage) const {
  const std::int64_t bytes_over = usage.bytes - (limits_.disk_mb << 20);
  const std::int64_t files_over = usage.files - limits_.files;
  if (look_since_ns_ == 0) return false;
  return (bytes_over > 0 && usage.changed_bytes >= bytes_over) ||
         (files_over > 0 && usage.changed_files >= files_over);
}

std::int64_t Watchdog::upload_bytes() const {
  return watched_.upload_bytes ? watched_.upload_bytes() : 0;
}

base::Status Watchdog::take_disk_room(std::int64_t bytes, RoomFor what) {
  if (!watched_.disk || bytes <= 0) return base::done();
  wake();
  // As they are now: one may have begun, or ended, since the last look.
  const std::int64_t uploads = upload_bytes();
  const std::int64_t taken = last_disk_.bytes - last_upload_bytes_ + uploads + promises_.bytes();
  if (bytes > (limits_.disk_mb << 20) - taken) {
    // Files that were deleted since the last look make room: now is the time to see it, though not
    // all the time.
    if (Clock::now() >= next_asked_look_) {
      next_disk_look_ = Clock::now();
      next_asked_look_ = Clock::now() + kAskedInterval;
    }
    return base::error(
        base::Error::Kind::kLimit,
        std::string("the session's files") + (uploads > 0 ? " and unfinished uploads" : "") +
            " take " + std::to_string(taken >> 20) + " of its " + std::to_string(limits_.disk_mb) +
            " MB (limits.disk_mb): delete some, or create_session with more");
  }
  if (what == RoomFor::kFile) promises_.add(bytes, Clock::now());
  return base::done();
}

void Watchdog::disk_written(std::int64_t bytes) {
  promises_.written(bytes);
  wake();
}

// Twice in a row: neither one file of a run that is over by now, nor what is written between the
// first look and the end it led to.
void Watchdog::check_floor(bool writing) {
  if (writing && writes_below_floor_) watched_.disk_room_low();
  writes_below_floor_ = writing && !writes_below_floor_;
}

// A look tells whether it is this session that writes. Code can make it take long, and the floor is
// not waited for: while no look comes to its end, whoever may be writing is ended. Only time in
// which a look is on counts.
void Watchdog::check_floor_between_looks(bool loses_room) {
  if (!loses_room || !disk_side_->busy()) return;
  if (ticks_below_floor_++ == 0) below_floor_since_ = Clock::now();
  if (ticks_below_floor_ < kTicksBelowFloor) return;
  if (Clock::now() - below_floor_since_ < kFloorPatience) return;
  ticks_below_floor_ = 0;
  watched_.disk_room_low();
}

// A quota holds the session's own limit, and tells at no cost what it has written.
void Watchdog::check_floor_of_quota() {
  std::optional<std::int64_t> bytes;
  if (watched_.quota_bytes && watched_.room().below_floor) bytes = watched_.quota_bytes();
  check_floor(bytes && quota_bytes_ && *bytes > *quota_bytes_);
  quota_bytes_ = bytes;
}

}  // namespace sandbox::box
