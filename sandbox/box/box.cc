#include "sandbox/box/box.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/unix_socket.h"
#include "sandbox/box/capabilities.h"
#include "sandbox/box/disk_room.h"
#include "sandbox/box/host_folders.h"
#include "sandbox/box/plan.h"
#include "sandbox/enforcement.h"
#include "sandbox/environment.h"
#include "sandbox/own_ids.h"
#include "sandbox/session_parts.h"
#include "sandbox/unfinished_uploads.h"
#include "sandbox/wire/box_protocol.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;
using std::chrono::seconds;
using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kLifeInterval{1000};
constexpr seconds kLeftBehindPatience{5};
constexpr const char* kNothingIsStored =
    "what was stored of its variables is deleted, since nothing is to be stored (autosave); files "
    "kept";

}  // namespace

base::Result<std::unique_ptr<Box>> Box::start(EventLoop& loop, BoxSpec spec, int lock_fd) {
  auto record = TRY(LossRecord::open(lock_fd));
  std::unique_ptr<Box> box(new Box(loop, std::move(spec), std::move(record)));
  TRY(box->open_directories());
  TRY(box->start_init());
  // Before there are threads: each has rights of its own.
  TRY(keep_needed_capabilities(box->disk_quota_ != nullptr));
  TRY(box->start_runs());
  TRY(box->network_->open(box->init_->take_sockets()));
  TRY(box->start_control());
  // Once the server has heard that the box is there.
  loop.after(std::chrono::milliseconds(0), [raw = box.get()] { raw->runs_->start_ahead(); });
  loop.after(kLifeInterval, [raw = box.get()] { raw->check_life(); });
  return box;
}

Box::~Box() {
  if (session_directory_.valid()) (void)::unlinkat(session_directory_.get(), kBoxSocketPart, 0);
  // In this order: the cgroup goes once it is empty, and servers that wait for the end of the box
  // see their connection close when there is nothing left of it.
  watchdog_.reset();
  network_.reset();
  runs_.reset();
  stored_state_.reset();
  init_.reset();
  cgroup_.reset();
  control_.reset();
}

base::Status Box::open_directories() {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  session_directory_ = TRY(base::open_file(AT_FDCWD, spec_.session_directory, kFlags));
  const auto open_part = [this](const char* part) {
    return base::open_file(AT_FDCWD, session_part(spec_.session_directory, part), kFlags);
  };
  runs_directory_ = TRY(open_part(kRunsPart));
  workspace_ = TRY(open_part(kWorkspacePart));
  home_ = TRY(open_part(kHomePart));
  tmp_ = TRY(open_part(kTmpPart));
  if (!spec_.environment_directory.empty()) {
    environment_ = TRY(use_environment(spec_.environment_directory));
  }
  // As root each session has an id of its own, which no other project of the host will have.
  if (spec_.host_uid) {
    disk_quota_ =
        DiskQuota::hold({workspace_.get(), home_.get(), tmp_.get()}, *spec_.host_uid, spec_.limits);
  }
  return base::done();
}

base::Status Box::start_init() {
  cgroup_ = make_cgroup(spec_.session_directory, spec_.limits);
  RlimitFallbacks fallbacks;
  // Not beside a cgroup: the rlimit would refuse first, and only the cgroup counts refusals.
  fallbacks.processes = cgroup_->holds_processes().empty();
  fallbacks.cpus = cgroup_->holds_cpus().empty();
  // spec_ goes on to say what was granted: its server compares that, and would start a box that has
  // less anew at each use.
  BoxSpec narrowed = spec_;
  TRY(narrow_host_folders(narrowed));
  spec_.note = narrowed.note;
  const std::string plan = TRY(make_plan(narrowed, cgroup_->entrance(), fallbacks));
  InitProcess::Events events;
  events.exited = [this](pid_t pid, int status) {
    if (runs_) runs_->process_exited(pid, status);
  };
  events.stopped = [this](pid_t pid) {
    if (runs_) runs_->process_stopped(pid);
  };
  events.lost = [this](const std::string& why) { end(Cause::kSandboxLost, why); };
  init_ = TRY(InitProcess::start(loop_,
                                 {spec_.program_directory + "/hutch-init", spec_.zygote_directory,
                                  plan, [&narrowed] { return make_host_mounts(narrowed); }},
                                 std::move(events)));
  if (!spec_.host_folders.empty()) folder_mounts_ = TRY(count_folder_mounts(init_->host_pid()));
  make_network();
  return base::done();
}

void Box::make_network() {
  NetworkAccess::Of network{.loop = loop_,
                            .spec = spec_,
                            .session_fd = session_directory_.get(),
                            .listen = {},
                            .around = {},
                            .told = {}};
  network.listen = [this](const std::string& plan) {
    return init_->listen(spec_.program_directory + "/hutch-init", plan);
  };
  network.around = [this] {
    JournalRoom::Around around;
    around.is_served = !control_ || control_->attached();
    if (around.is_served) return around;
    if (disk_quota_) {
      around.is_quota_used_up = disk_quota_->used_up();
    } else {
      around.disk_left_bytes = (spec_.limits.disk_mb << 20) - watchdog_->disk_bytes();
    }
    return around;
  };
  network.told = [this](const json& event) {
    if (runs_) runs_->network_used(event);
  };
  network_ = std::make_unique<NetworkAccess>(std::move(network));
}

Watchdog::Watched Box::watched() {
  Watchdog::Watched watched;
  watched.measured.init_host_pid = init_->host_pid();
  watched.measured.init_pidfd = init_->pidfd();
  watched.memory = cgroup_->holds_memory().empty();
  watched.disk = disk_quota_ == nullptr;
  if (disk_quota_) watched.quota_bytes = [this] { return disk_quota_->used_bytes(); };
  watched.measured.directories = {workspace_.get(), home_.get(), tmp_.get()};
  for (const char* path : {"dev/shm", "run/hutch/state"}) {
    // The box's root is read-only, so the code in it cannot have put anything else there.
    auto mount = base::open_file(init_->root_fd(), path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (!mount.ok()) continue;  // then what lies there unmapped is not seen
    watched.measured.tmpfs.push_back(mount.value().get());
    tmpfs_.push_back(std::move(mount.value()));
  }
  watched.interpreters = [this] { return runs_->interpreters(); };
  watched.busy = [this] { return runs_->busy(); };
  watched.frozen = [this] { return rest_ != nullptr && rest_->is_frozen(); };
  watched.looks = [this] { show_memory(); };
  watched.processes = cgroup_->holds_processes().empty();
  watched.oom_kills = [this] { return cgroup_->oom_kills(); };
  watched.pids_refused = [this] { return cgroup_->pids_refused(); };
  watched.kept_bytes = [this] { return network_->journal_bytes(); };
  watched.upload_bytes = [this] { return upload_bytes(); };
  watched.disk_limit_reached = [this](DiskLimit limit) { limit_reached(Cause::kDisk, "", limit); };
  watched.disk_room_low = [this] {
    limit_reached(
        Cause::kDisk,
        "the file system of the host that sessions are kept on is nearly full, so whatever "
        "goes on writing there is ended: make room on the host");
  };
  watched.disk_uncountable = [this](Uncountable what) {
    limit_reached(Cause::kDisk, reason_of(what), DiskLimit::kNotCounted);
  };
  watched.sockets_too_large = [this](SocketMemory beyond) {
    limit_reached(Cause::kOom, reason_of(beyond));
  };
  watched.processes_uncountable = [this] {
    limit_reached(Cause::kPids, reason_of(Uncountable::kProcesses));
  };
  watched.processes_refused = [this] { processes_refused(); };
  watched.process_limit_reached = [this] { limit_reached(Cause::kPids); };
  watched.memory_ran_out = [this] { runs_->stop_after_oom_kill(); };
  return watched;
}

base::Status Box::start_runs() {
  Runs::Context context{.loop = loop_,
                        .init = *init_,
                        .spec = spec_,
                        .session_fd = session_directory_.get(),
                        .runs_fd = runs_directory_.get(),
                        .workspace_fd = workspace_.get(),
                        .home_fd = home_.get()};
  context.oom_kills = [this] { return oom_kills(); };
  context.disk_used_up = [this] {
    return (disk_quota_ && disk_quota_->used_up()) || no_room_in({workspace_.get(), tmp_.get()});
  };
  context.pids_refused = [this] {
    if (cgroup_->holds_processes().empty()) return watchdog_->times_full();
    return cgroup_->pids_refused();
  };
  if (!cgroup_->holds_freeze().empty()) {
    context.freeze = [this](bool frozen) { return cgroup_->freeze(frozen); };
  }
  context.memory_peak_bytes = [this] {
    return std::max(cgroup_->memory_peak_bytes(), watchdog_->memory_peak_bytes());
  };
  context.changed = [this](const std::string& run_id) {
    watchdog_->wake();
    if (control_) control_->run_changed(run_id);
  };
  if (spec_.autosave_mb > 0) {
    stored_state_ =
        TRY(StoredState::open(loop_, session_directory_.get(), init_->root_fd(), spec_));
    context.kept_states = stored_state_->interpreters();
    context.kept_shell = stored_state_->shell();
  }
  context.catch_up_with_network = [this] { network_->catch_up(); };
  context.ends = [this](const std::string& run_id) {
    watchdog_->run_ends();
    loss_record_.is_over(run_id);
  };
  context.left_ended = [this] { watchdog_->processes_ended(); };
  context.begins = [this](const Run& run, bool restarts_on_wake) {
    watchdog_->run_begins();
    loss_record_.begins(run, restarts_on_wake);
    show_memory();
  };
  runs_ = std::make_unique<Runs>(std::move(context));
  runs_->tell_next(
      loss_record_.loss(stored_state_ ? stored_state_->put_back() : std::set<Language>()));
  runs_->tell_next(spec_.note);
  // Later it would be older than what the session knows then.
  if (!stored_state_ && TRY(StateDirectory::open(session_directory_.get())).clear()) {
    runs_->tell_next(kNothingIsStored);
  }
  watchdog_ = TRY(Watchdog::start(loop_, spec_.limits, watched()));
  memory_view_.emplace(init_->root_fd(), spec_.limits);
  rest_ = std::make_unique<Rest>(
      Rest::Of{.loop = loop_,
               .spec = spec_,
               .init = *init_,
               .cgroup = *cgroup_,
               .runs = *runs_,
               .stored_state = stored_state_.get(),
               .record = loss_record_,
               .end = [this](const std::string& why) { end(Cause::kCancelled, why); },
               .end_network = [this] { network_->end(); }});
  return base::done();
}

std::int64_t Box::oom_kills() {
  const std::int64_t kills = cgroup_->oom_kills() + watchdog_->oom_kills();
  if (kills > oom_kills_seen_ && stored_state_ && stored_state_->take_killed_writer()) {
    ++writers_killed_;
  }
  oom_kills_seen_ = kills;
  return kills - writers_killed_;
}

std::int64_t Box::upload_bytes() const {
  const auto uploads =
      base::open_file(session_directory_.get(), kUploadsPart, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!uploads.ok()) return 0;  // there has never been one
  const UnfinishedUploads unfinished = unfinished_uploads(uploads.value().get());
  return unfinished.bytes - unfinished.placed_bytes;
}

void Box::show_memory() {
  if (!memory_view_ || !memory_view_->is_due()) return;
  const bool is_counted = !cgroup_->holds_memory().empty();
  memory_view_->show(is_counted ? cgroup_->memory_bytes() : watchdog_->memory_bytes(),
                     is_counted ? cgroup_->cache_bytes() : 0);
}

base::Status Box::start_control() {
  base::UniqueFd socket = TRY(base::listen_at(session_directory_.get(), kBoxSocketPart));
  Control::Actions actions;
  actions.runs = [this]() -> Runs& { return *runs_; };
  actions.used = [this] {
    rest_->used();
    runs_->end_unused_soon();
  };
  actions.pause = [this] { return rest_->pause(Rest::Pauser::kClient); };
  actions.resume = [this] {
    watchdog_->wake();
    return rest_->resume();
  };
  actions.in_use = [this] { rest_->in_use(); };
  actions.taken = [this] { runs_->end_unused_soon(); };
  actions.end_with_connection = [this] {
    spec_.ends_with_connection = true;
    runs_->end_unused_soon();
  };
  actions.allow = [this](const std::vector<NetworkRule>& rules, bool take_back) {
    return network_->allow(rules, take_back);
  };
  actions.set_network = [this](BoxNetwork network) { return network_->set(std::move(network)); };
  actions.status = [this] { return status(); };
  actions.root_fd = [this] { return init_->root_fd(); };
  actions.connect = [this](int family, std::uint16_t port) { return init_->connect(family, port); };
  actions.set_lifetime = [this](std::int64_t ms, bool pauses) {
    ends_at_ms_ = base::boottime_ms() + ms;
    spec_.pauses_at_end = pauses;
  };
  actions.take_disk_room = [this](std::int64_t bytes, RoomFor what) {
    return watchdog_->take_disk_room(bytes, what);
  };
  actions.disk_written = [this](std::int64_t bytes) { watchdog_->disk_written(bytes); };
  actions.servers_are_gone = [this] {
    if (watchdog_ != nullptr) watchdog_->writers_are_gone();
  };
  actions.shutdown = [this](const std::string& why, Ending ending) {
    rest_->shut_down(why, ending);
  };
  control_ = TRY(Control::listen(loop_, std::move(socket), std::move(actions)));
  return base::done();
}

json Box::status() {
  json active = json::array();
  for (const Run* run : runs_->active()) active.push_back(run_to_json(without_results(*run)));
  json contexts = json::object();
  for (const auto& [name, context] : runs_->contexts()) {
    contexts[name] = {{"language", name_of(context.language)}, {"directory", context.directory}};
  }
  return {{"paused", rest_->paused()},
          {"paused_on_request", rest_->paused_on_request()},
          {"is_storing", rest_->is_storing()},
          {"held_by", rest_->held_by()},
          {"attached", control_->attached()},
          {"active", active},
          {"contexts", contexts},
          {"usage",
           {{"memory_bytes", cgroup_->memory_bytes()},
            {"cache_bytes", cgroup_->cache_bytes()},
            {"processor_time_us", cgroup_->processor_time_us()},
            {"disk_bytes", watchdog_->disk_bytes()}}},
          {"isolation", isolation_to_json(isolation())}};
}

Isolation Box::isolation() const {
  const auto or_else = [](const std::string& holder, const Holder& fallback) {
    return holder.empty() ? fallback.words : holder;
  };
  const bool spared = !spec_.host_uid && may_be_root_of_host();
  const int landlock = init_->landlock_abi();
  return {.namespaces = {"user", "mount", "pid", "net", "ipc", "uts", "cgroup"},
          .ids = spec_.host_uid ? "own id on the host" : "the server's own user id",
          .seccomp = "default",
          .landlock = landlock > 0 ? "ABI " + std::to_string(landlock) : "not in this kernel",
          .memory = or_else(cgroup_->holds_memory(), kWatchAndRlimit),
          .processes = or_else(cgroup_->holds_processes(), spared ? kSparedRlimit : kRlimit),
          .cpus = or_else(cgroup_->holds_cpus(), kAffinity),
          .pause = cgroup_->holds_freeze().empty() ? "SIGSTOP" : cgroup_->holds_freeze(),
          .disk = (disk_quota_ ? kProjectQuota : kWatch).words,
          .python = init_->warm() ? kForkedFromZygote : "started",
          .host_folders = spec_.host_folders,
          .network = spec_.network,
          .credentials = spec_.credentials};
}

// A look at all processes takes this thread's time.
void Box::processes_refused() {
  const auto now = steady_clock::now();
  if (refusals_looked_at_ && now - *refusals_looked_at_ < kLeftBehindPatience) return;
  refusals_looked_at_ = now;
  (void)runs_->end_left_behind_where_most(spec_.limits.processes * 3 / 4);
}

void Box::limit_reached(Cause cause, const std::string& why, DiskLimit disk_limit) {
  if (rest_->is_frozen())
    return;  // it takes no more, and cannot be ended: the next look after it tells again
  if (runs_->busy()) {
    // A run is not ended for processes that were there before it, but where they come again at
    // once, or it fills the table itself, it is.
    const auto now = steady_clock::now();
    const bool again = left_ended_for_run_ && now - *left_ended_for_run_ < kLeftBehindPatience;
    if (cause == Cause::kPids && why.empty() && !again &&
        runs_->end_left_behind_where_most(spec_.limits.processes / 2)) {
      left_ended_for_run_ = now;
      return;
    }
    if (!why.empty()) runs_->note_all(why);
    return runs_->stop_all(cause, disk_limit);
  }
  // Something that a run left behind goes on against the limit: which one, nobody can tell. Who
  // only writes has left its interpreter, most likely; a bomb is to be ended at one stroke.
  const auto now = steady_clock::now();
  const bool again = left_behind_ended_ && now - *left_behind_ended_ < kLeftBehindPatience;
  const bool interpreters_too = cause != Cause::kDisk || again;
  const std::string fate = runs_->fate_of_all();
  left_behind_ended_ = now;
  if (interpreters_too) {
    runs_->end_processes();
  } else {
    runs_->end_left_behind();
  }
  const char* limit = cause == Cause::kPids  ? "processes"
                      : cause == Cause::kOom ? "memory"
                                             : "disk";
  runs_->tell_next("processes that went on against the session's limit of " + std::string(limit) +
                   " were ended" +
                   (interpreters_too ? ", and the interpreters with them: " + fate : "") +
                   (why.empty() ? "" : "; " + why));
}

void Box::end(Cause cause, const std::string& why) {
  if (ended_) return;
  ended_ = true;
  loss_record_.ends(why, runs_ ? runs_->going_on() : LeftProcesses());
  if (rest_) rest_->ends();
  init_->kill();
  if (network_) network_->end();
  if (runs_) runs_->end_all(cause, why);
  // Replies still have to leave, so the loop does not stop at once.
  loop_.after(std::chrono::milliseconds(0), [this] { loop_.stop(); });
}

std::optional<std::string> Box::reason_to_end_now() {
  const auto now = steady_clock::now();
  Situation situation;
  if (control_->attached()) {
    last_attached_ = now;
  } else {
    situation.alone = std::chrono::floor<seconds>(now - last_attached_);
  }
  situation.detach = seconds(control_->detach_seconds().value_or(spec_.detach_seconds));
  situation.ends_with_connection = spec_.ends_with_connection;
  situation.with_deadline = runs_->any_with_deadline(true);
  situation.without_deadline = runs_->any_with_deadline(false);
  situation.paused = rest_->paused_for();
  situation.paused_on_request = rest_->paused_on_request();
  situation.paused_max = seconds(spec_.paused_max_seconds);
  situation.memory_is_scarce = rest_->is_to_make_room();
  return reason_to_end(situation);
}

// Whoever removed it, or put another in its place, wants nothing of this box any more; no server
// can reach its socket.
bool Box::directory_is_gone() const {
  struct stat ours {
  }, there{};
  if (::fstat(session_directory_.get(), &ours) != 0) return false;
  if (::lstat(spec_.session_directory.c_str(), &there) != 0) return errno == ENOENT;
  return ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

// Then the code could write to, or read, what it must not.
bool Box::cover_is_gone() const {
  if (folder_mounts_ == 0) return false;
  const auto now = count_folder_mounts(init_->host_pid());
  return !now.ok() || now.value() < folder_mounts_;
}

void Box::check_life() {
  if (ended_) return;
  if (ends_at_ms_ && base::boottime_ms() >= *ends_at_ms_) {
    if (!spec_.pauses_at_end) {
      runs_->files_end_too();
      return end(Cause::kCancelled, "the session's lifetime is over");
    }
    // A session that is resumed afterwards has no end until it is given one.
    if (rest_->pause(Rest::Pauser::kClient).ok()) ends_at_ms_.reset();
  }
  if (const auto why = reason_to_end_now()) {
    rest_->shut_down(*why, Ending::kStored);
    if (ended_) return;
  }
  if (directory_is_gone()) return end(Cause::kSandboxLost, "the session's directory was removed");
  if (rest_->paused() && init_->is_killed()) {
    return end(Cause::kSandboxLost, "its processes were killed");
  }
  if (cover_is_gone()) {
    return end(Cause::kSandboxLost,
               "a protected or blocked file in a host folder was replaced on the host, and is "
               "covered again in the next sandbox");
  }
  // Tried again at the next round when it fails.
  if (rest_->idle_too_long()) (void)rest_->pause(Rest::Pauser::kIdleness);
  loop_.after(kLifeInterval, [this] { check_life(); });
}

}  // namespace sandbox::box
