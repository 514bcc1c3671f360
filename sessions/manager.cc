// Sessions: made, found, started. What else happens to them has a manager_*.cc each: the end, runs,
// pauses, spares, folders, the sweep.
#include "sessions/manager.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sessions/host_id.h"
#include "sandbox/base/clock.h"
#include "sandbox/base/random_id.h"
#include "sandbox/environment.h"

namespace sessions {

using base::Error;

namespace {

// How often a new box is tried when one dies.
constexpr int kBoxAttempts = 2;
constexpr int kBoxPauseMs = 10;
constexpr std::size_t kNameBytesMax = 100;
constexpr std::int64_t kLifetimeSecondsMax = 365LL * 86400;

}  // namespace

base::Status check_session_name(const std::string& name) {
  const bool good = name.size() <= kNameBytesMax &&
                    name.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_. ") == std::string::npos &&
                    !name.starts_with("session_");
  if (good) return base::done();
  return base::error(Error::Kind::kInvalid,
                     "a session name has at most 100 letters, digits, spaces, '-', '_' or '.', and "
                     "does not begin with \"session_\"");
}

base::Error deleted() {
  return base::error(Error::Kind::kNotFound, "this session was deleted; create_session makes one");
}

Manager::Manager(ManagerConfig config, Store& store, sandbox::Sandbox& sandbox)
    : config_(std::move(config)),
      quotas_(config_),
      store_(store),
      sandbox_(sandbox),
      tokens_(config_.state_directory, store),
      networks_(config_.network, config_.state_directory, store),
      journals_(config_.state_directory, store),
      kept_calls_(config_.state_directory),
      run_files_(config_.state_directory),
      server_id_(base::random_id("server_")),
      served_since_ms_(config_.clock().uptime_ms) {}

base::Result<std::unique_ptr<Manager>> Manager::open(ManagerConfig config, Store& store,
                                                     sandbox::Sandbox& sandbox) {
  std::unique_ptr<Manager> manager(new Manager(std::move(config), store, sandbox));
  for (const char* name : {"/sessions", "/servers"}) {
    const std::string path = manager->config_.state_directory + name;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return Error::from_errno("make " + path);
  }
  TRY(manager->take_server_lock());
  TRY(manager->renew_ids());
  if (manager->config_.spare_sessions > 0) {
    TRY(store.ensure_spare_principal());
    manager->spares_.maker = std::jthread(
        [raw = manager.get()](const std::stop_token& stop) { raw->keep_spares(stop); });
  }
  manager->journal_calls_ = TRY(sandbox::JournalCalls::listen(
      manager->config_.state_directory, manager->server_id_,
      [raw = manager.get()](const std::string& session_id) {
        (void)raw->journals_.take(session_id);  // what fails is asked for again
      }));
  manager->sweeper_ = std::jthread(
      [raw = manager.get()](const std::stop_token& stop) { raw->sweep_from_time_to_time(stop); });
  sandbox.tell_ends([raw = manager.get()](const std::string& id) { raw->note_ended(id); });
  return manager;
}

Manager::~Manager() {
  journal_calls_.reset();
  sandbox_.tell_ends({});
  end_spares();
  if (sweeper_.joinable()) {
    sweeper_.request_stop();
    sweeper_wakeup_.notify_all();
    sweeper_.join();
  }
  (void)::unlink((config_.state_directory + "/servers/" + server_id_).c_str());
}

void Manager::pause_for_box() { (void)::poll(nullptr, 0, kBoxPauseMs); }

bool Manager::wait_until(std::chrono::milliseconds patience, const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pause_for_box();
  }
  return true;
}

SessionDirectory Manager::files_of(const std::string& session_id) const {
  return {config_.state_directory, session_id};
}

std::string Manager::directory_of(const std::string& session_id) const {
  return files_of(session_id).path();
}

std::shared_ptr<std::mutex> Manager::lock_of(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (const auto entry = locks_.find(what); entry != locks_.end()) {
    if (auto known = entry->second.lock()) return known;
  }
  // Nobody holds it; nor those of sessions that nobody will ask for again.
  std::erase_if(locks_, [](const auto& entry) { return entry.second.expired(); });
  auto made = std::make_shared<std::mutex>();
  locks_[what] = made;
  return made;
}

std::shared_ptr<std::mutex> Manager::lock_of_files(const Session& session) {
  return lock_of("files of " + session.id);
}

Session Manager::new_session(const std::string& principal_id, const sandbox::Limits& limits) const {
  Session session;
  session.id = base::short_id("session_");
  session.principal_id = principal_id;
  session.limits = limits;
  session.template_name =
      sandbox::usual_template(config_.environments_directory, config_.usual_template);
  const Quotas quotas_now = quotas();
  session.idle_seconds = quotas_now.idle_seconds;
  session.retention_seconds = quotas_now.retention_seconds;
  const Moment now = moment_now();
  session.created_at = session.last_used_at = now.now_ms;
  session.boot_id = now.boot_id;
  session.boot_offset_ms = now.now_ms - now.boottime_ms;
  return session;
}

base::Result<SessionState> Manager::create(const std::string& principal_id,
                                           const SessionOptions& options) {
  return start_new(TRY(make_row(principal_id, options)));
}

base::Result<Session> Manager::make_row(const std::string& principal_id,
                                        const SessionOptions& options) {
  TRY(check_session_name(options.name));
  const Quotas now = quotas();
  const sandbox::Limits limits = options.limits.value_or(now.default_limits);
  if (options.limits) TRY(sandbox::check_limits(limits, now.most_limits));
  if (options.lifetime_seconds &&
      (*options.lifetime_seconds < 1 || *options.lifetime_seconds > kLifetimeSecondsMax)) {
    return base::error(Error::Kind::kInvalid,
                       "lifetime_seconds must be from 1 to " + std::to_string(kLifetimeSecondsMax));
  }
  Session wanted = new_session(principal_id, limits);
  if (!options.name.empty()) wanted.name = options.name;
  wanted.ends_with_connection = options.name.empty() && !options.connection_id.empty();
  wanted.env = options.env;
  wanted.lifetime_seconds = options.lifetime_seconds;
  wanted.metadata = options.metadata;
  wanted.working_directory = options.working_directory;
  wanted.public_ports = options.public_ports;
  wanted.wakes_by_port = options.wakes_by_port;
  wanted.pauses_at_end = options.pauses_at_end;
  wanted.port_host = options.port_host;
  wanted.host_folders = TRY(choose_folders(options.filesystem, config_.folders));
  wanted.paths = TRY(choose_paths(options.filesystem));
  wanted.network = TRY(choose(options.network, config_.network));
  wanted.unasked = options.unasked;
  if (wanted.ends_with_connection) {
    wanted.connection_server =
        config_.connections_end_with_server ? server_id_ : std::string(kLastingConnection);
  }
  if (!options.template_name.empty()) wanted.template_name = options.template_name;
  (void)TRY(environment_of(wanted));
  Session session = TRY(wanted.unasked ? take_unasked_row(wanted) : take_row(wanted));
  if (session.ends_with_connection) connections_.add_owned(options.connection_id, session.id);
  return session;
}

base::Result<SessionState> Manager::start_new(const Session& session) {
  auto made = state_of_new(session);
  if (!made.ok()) {
    // Nobody uses it now: no process of it may live on. A later use starts it again.
    if (const auto box = sandbox_.look_at(session.id); box.ok()) (void)box.value()->shutdown();
    if (made.error().kind == Error::Kind::kCapacity) {
      // Its caller has no id of it, and asks for another one later.
      (void)end_session(session, made.error().message);
    } else {
      (void)store_.set_session_status(session.id, SessionStatus::kError, made.error().message);
    }
  }
  return made;
}

base::Result<SessionState> Manager::state_of_new(const Session& session) {
  TRY(box_of(session));
  return state_of(TRY(find(session.principal_id, session.id)));
}

base::Result<Session> Manager::find_or_create_named(const std::string& principal_id,
                                                    const std::string& name) {
  if (auto session = find(principal_id, name); session.ok()) return session;
  SessionOptions options;
  options.name = name;
  auto created = create(principal_id, options);
  if (created.ok()) return std::move(created).value().session;
  // Another server may have made it in between.
  if (created.error().kind == Error::Kind::kConflict) return find(principal_id, name);
  return std::move(created).error();
}

base::Result<Session> Manager::session_of_connection(const std::string& principal_id,
                                                     const std::string& connection_id) {
  const auto lock = lock_of(connection_id);
  const std::lock_guard one_at_a_time(*lock);
  if (const std::string known = connections_.default_of({principal_id, connection_id});
      !known.empty()) {
    auto session = find(principal_id, known);
    // Deleted by the client: the next use makes a new one.
    if (session.ok() && session.value().status != SessionStatus::kDestroyed) return session;
  }
  SessionOptions options;
  options.connection_id = connection_id;
  const Session made = TRY(make_row(principal_id, options));
  // Also of one that does not start: the next call tries it again, and makes no other.
  connections_.set_default({principal_id, connection_id}, made.id);
  return TRY(start_new(made)).session;
}

base::Result<Session> Manager::find(const std::string& principal_id,
                                    const std::string& id_or_name) {
  auto session = store_.find_session(principal_id, id_or_name);
  if (session.ok() || session.error().kind != Error::Kind::kNotFound) return session;
  const std::string id = session_id_of(id_or_name);
  return id == id_or_name ? session : store_.find_session(principal_id, id);
}

base::Result<std::shared_ptr<sandbox::Box>> Manager::box_of(const Session& session) {
  if (session.status == SessionStatus::kDestroyed) return deleted();
  if (lifetime_is_over(session)) return end_of_lifetime(session);
  if (auto box = sandbox_.find(session.id); box.ok() && grants_are_known(session.id)) return box;
  const auto lock = lock_of(session.id);
  const std::lock_guard one_at_a_time(*lock);
  const auto deadline = std::chrono::steady_clock::now() + kOthersPatience;
  while (true) {
    auto box = sandbox_.find(session.id);
    // One of another version says so, and is left alone.
    if (!box.ok() && box.error().kind == Error::Kind::kUnsupported) return box;
    if (box.ok() && TRY(has_its_grants(session, *box.value()))) return box;
    // It may have been deleted since the caller looked, and again until its lock is held.
    const Session now = TRY(find(session.principal_id, session.id));
    if (now.status == SessionStatus::kDestroyed) return deleted();
    const auto owned = own(session.id);
    if (owned.ok()) return note_start(session, start_box(session, owned.value()));
    // Another server is starting one, which will answer, or removes what is left of the last.
    const bool somebodys = owned.error().kind == Error::Kind::kConflict ||
                           owned.error().kind == Error::Kind::kNotFound;
    if (!somebodys) return note_start(session, owned.error());
    if (std::chrono::steady_clock::now() >= deadline) return owned.error();
    pause_for_box();
  }
}

base::Result<sandbox::SessionLock> Manager::own(const std::string& session_id) const {
  const std::string directory = directory_of(session_id);
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + directory, Error::Kind::kUnavailable);
  }
  return sandbox::SessionLock::take(directory);
}

base::Result<std::string> Manager::environment_of(const Session& session) const {
  if (session.template_name == sandbox::kHostTemplate) return std::string();
  return sandbox::find_environment(config_.environments_directory, session.template_name);
}

base::Result<sandbox::BoxSpec> Manager::spec_of(const Session& session) const {
  sandbox::BoxSpec spec;
  spec.session_id = session.id;
  spec.session_directory = directory_of(session.id);
  spec.environment_directory = TRY(environment_of(session));
  spec.limits = session.limits;
  spec.env = session.env;
  if (session.principal_id == kSparePrincipal) spec.ahead = TRY(languages_ahead());
  if (session.host_uid) spec.host_uid = static_cast<std::uint32_t>(*session.host_uid);
  spec.idle_seconds = session.idle_seconds;
  spec.paused_max_seconds = config_.paused_max_seconds;
  spec.ends_with_connection = session.ends_with_connection && config_.connections_end_with_server;
  FoldersNow folders = granted_now(session.host_folders, config_.folders);
  spec.host_folders = std::move(folders.folders);
  spec.note = std::move(folders.note);
  spec.paths = session.paths;
  SessionNetworks::Network network = TRY(networks_.network_of(session));
  TRY(networks_.add(std::move(network), session, spec));
  if (config_.own_ids) {
    // The one that host_uids_of() leaves.
    spec.egress_uid = static_cast<std::uint32_t>(config_.own_ids->first + config_.own_ids->count);
  }
  spec.ends_in_ms = lifetime_left_ms(session, moment_now());
  spec.pauses_at_end = session.pauses_at_end;
  if (spec.pauses_at_end && spec.ends_in_ms && *spec.ends_in_ms <= 0) spec.ends_in_ms.reset();
  return spec;
}

base::Result<std::shared_ptr<sandbox::Box>> Manager::start_box(const Session& known,
                                                               const sandbox::SessionLock& lock) {
  const Session found = TRY(find(known.principal_id, known.id));
  // A sweep removes what own() has made.
  if (found.status == SessionStatus::kDestroyed) return deleted();
  if (found.unreadable) {
    return base::error(Error::Kind::kInternal, found.id + ": " + *found.unreadable);
  }
  const Session session = TRY(with_own_files(found));
  const std::string directory = directory_of(session.id);
  TRY(make_directories(session));
  sandbox_.sweep(session.id, directory, lock);
  // One that cannot be settled now is tried again by whoever asks for it.
  for (const Run& row : TRY(store_.unfinished_runs(session.id))) (void)settle(row, Owner::kUs);
  TRY(journals_.take_last(session.id));
  if (config_.network.quota.principal_bytes_a_day) TRY(journals_.take_all());
  const sandbox::BoxSpec spec = TRY(spec_of(session));
  const bool is_claimed = TRY(claim_box(session));
  auto started = sandbox_.start(spec, lock);
  if (!started.ok()) {
    if (is_claimed) (void)store_.unclaim_box(session);
    sandbox_.sweep(session.id, directory, lock);  // what it made before it failed
    return std::move(started).error();
  }
  auto box = std::move(started).value();
  // The box that another server was faster to start is looked at by the next use.
  const auto status = box->status();
  if (status.ok()) {
    TRY(store_.set_isolation(session.id, status.value().isolation));
    remember_grants(session.id, status.value(), spec);
  }
  TRY(store_.set_session_status(session.id, SessionStatus::kReady, ""));
  if (TRY(store_.session_is_live(session.id))) return box;
  // Deleted meanwhile, by who could not end what was not there yet.
  (void)box->shutdown();
  return deleted();
}

base::Status Manager::with_live_box(const Session& session,
                                    const std::function<base::Status(sandbox::Box&)>& call) {
  for (int attempt = 0;; ++attempt) {
    const auto box = TRY(box_of(session));
    auto status = call(*box);
    const bool died = !status.ok() && status.error().kind == Error::Kind::kUnavailable;
    if (!died || attempt == kBoxAttempts) return status;
    (void)wait_until(kEndPatience, [&] { return !sandbox_.is_alive(directory_of(session.id)); });
  }
}

base::Result<base::UniqueFd> Manager::root_of(const Session& session) {
  // On a full disk its files can be read and deleted all the same.
  const auto touched = store_.touch_session(session.id, base::now_ms());
  if (!touched.ok() && touched.error().kind != Error::Kind::kLimit) return touched.error();
  base::UniqueFd root;
  const auto got = with_live_box(session, [&root](sandbox::Box& box) -> base::Status {
    root = TRY(box.root());
    return base::done();
  });
  if (!got.ok()) return got.error();
  return root;
}

base::Result<base::UniqueFd> Manager::look_at_root(const Session& session) {
  return TRY(sandbox_.look_at(session.id))->root();
}

base::Status Manager::destroy(const std::string& principal_id, const std::string& id) {
  const Session session = TRY(find(principal_id, id));
  if (session.status == SessionStatus::kDestroyed) {
    return base::error(Error::Kind::kNotFound, "this session was deleted before");
  }
  return end_session(session, "deleted by its owner");
}

}  // namespace sessions
