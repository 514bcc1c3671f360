#include "sandbox/box/egress_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process.h"
#include "base/unix_socket.h"
#include "sandbox/files/change_owner.h"
#include "sandbox/wire/build_id.h"
#include "sandbox/wire/egress_protocol.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kPatience{2000};
constexpr milliseconds kRetryPause{50};
constexpr int kDoublingsMax = 6;
constexpr int kCaughtUpMost = 512;  // code that connects all the time does not hold up its box
constexpr int kStartAttempts = 40;  // another box may be starting the door
constexpr int kStartPauseMs = 25;
constexpr milliseconds kEndPatience{2000};  // a door that lives takes a turn of its loop

}  // namespace

EgressLink::EgressLink(EventLoop& loop, const BoxSpec& spec, std::vector<base::UniqueFd> sockets,
                       Told told)
    : loop_(loop),
      spec_(spec),
      listeners_(listeners_of(spec.network)),
      sockets_(std::move(sockets)),
      told_(std::move(told)) {}

EgressLink::~EgressLink() {
  loop_.cancel(retry_);
  if (connection_.valid()) loop_.forget(connection_.get());
}

base::Result<std::unique_ptr<EgressLink>> EgressLink::open(EventLoop& loop, const BoxSpec& spec,
                                                           std::vector<base::UniqueFd> sockets,
                                                           Told told) {
  if (sockets.size() != listeners_of(spec.network).size()) {
    return base::error(Error::Kind::kInternal, "init came without its sockets");
  }
  std::unique_ptr<EgressLink> link(new EgressLink(loop, spec, std::move(sockets), std::move(told)));
  if (auto connected = link->connect(); !connected.ok()) {
    return std::move(connected).error().context("give the session its network");
  }
  return link;
}

base::Status EgressLink::connect() {
  // Boxes of another build have a door of theirs.
  const std::string place = spec_.egress_directory + "/" + std::string(wire::kBuildId);
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + place);
  }
  const base::UniqueFd directory = TRY(base::open_file(AT_FDCWD, place, O_PATH | O_DIRECTORY));
  for (int attempt = 0;; ++attempt) {
    auto connection =
        base::connect_to(directory.get(), wire::kEgressSocket, kPatience, SOCK_SEQPACKET);
    if (connection.ok()) {
      connection_ = std::move(connection).value();
      break;
    }
    if (connection.error().kind != Error::Kind::kNotFound || attempt == kStartAttempts) {
      return std::move(connection).error();
    }
    auto started = start_door(directory.get());
    if (!started.ok() && started.error().kind != Error::Kind::kConflict) return started;
    // One that was started here listens already; a second one is not started at once.
    if (!started.ok() || attempt > 0) (void)::poll(nullptr, 0, kStartPauseMs);
  }
  TRY(introduce());
  return is_held_ ? base::done() : listen();
}

base::Status EgressLink::listen() {
  // The end of a run, seen in the same look, may have taken all that was there: reading would wait.
  return loop_.watch(connection_.get(), EPOLLIN, [this](std::uint32_t) { catch_up(); });
}

// kConflict: another box is doing it, or one is there that is about to end.
base::Status EgressLink::start_door(int directory_fd) {
  // Ours, and it has ended: whoever started it waits for it.
  if (door_pid_ > 0 && ::waitpid(door_pid_, nullptr, WNOHANG) != 0) door_pid_ = -1;
  const base::UniqueFd lock =
      TRY(base::open_file(directory_fd, wire::kEgressLock, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return base::error(Error::Kind::kConflict, "hutch-egress is starting");
    return Error::from_errno("lock " + spec_.egress_directory);
  }
  const base::UniqueFd socket =
      TRY(base::listen_at(directory_fd, wire::kEgressSocket, SOCK_SEQPACKET));
  const base::UniqueFd downloads = TRY(open_downloads());
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  const base::UniqueFd log = TRY(base::open_file(directory_fd, "egress.log",
                                                 O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  base::SpawnOptions options;
  // Its directory is for who looks at processes.
  options.arguments = {spec_.program_directory + "/hutch-egress", spec_.egress_directory};
  if (spec_.egress_uid) {
    options.arguments.push_back(wire::kEgressUid + std::to_string(*spec_.egress_uid));
  }
  options.arguments.push_back(wire::kEgressDownloadsMb + std::to_string(spec_.downloads_mb));
  options.descriptors = {null.get(),   null.get(), log.get(),
                         socket.get(), lock.get(), downloads.get()};
  options.own_session = true;
  door_pid_ = TRY(base::spawn(options));
  return base::done();
}

// Opens the directory of downloads. It belongs to the doors of all builds, and to nobody else: no
// box sees it.
base::Result<base::UniqueFd> EgressLink::open_downloads() const {
  const std::string place = spec_.egress_directory + "/downloads";
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + place);
  }
  base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (spec_.egress_uid) {
    // With what it holds: in a copied state directory that is another door's.
    const base::UniqueFd above =
        TRY(base::open_file(AT_FDCWD, spec_.egress_directory, O_PATH | O_DIRECTORY));
    TRY(files::change_owner(above.get(), "downloads", *spec_.egress_uid,
                            [](std::int64_t, std::int64_t) {}));
  }
  return directory;
}

base::Status EgressLink::introduce() {
  const auto send = [this](const json& message, const int* fds, std::size_t count) {
    return base::send_packet(connection_.get(), base::print_json(message), fds, count);
  };
  json open = policy();
  open.update({{"op", "open"}, {"session_id", spec_.session_id}});
  TRY(send(open, nullptr, 0));
  const auto send_file = [&](const char* op, const std::string& path) -> base::Status {
    if (path.empty()) return base::done();
    const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY));
    const int fd = file.get();
    return send({{"op", op}}, &fd, 1);
  };
  TRY(send_file("roots", spec_.certificate_roots));
  TRY(send_file("authority", spec_.certificate_authority));
  return tell_listeners(0);
}

base::Status EgressLink::tell_listeners(std::size_t first) {
  for (std::size_t i = first; i < listeners_.size(); ++i) {
    const json message = {
        {"op", "listener"}, {"kind", listeners_[i].kind}, {"port", listeners_[i].port}};
    const int fd = sockets_[i].get();
    TRY(base::send_packet(connection_.get(), base::print_json(message), &fd, 1));
  }
  return base::done();
}

void EgressLink::add(const std::vector<Listener>& listeners, std::vector<base::UniqueFd> sockets) {
  const std::size_t before = listeners_.size();
  listeners_.insert(listeners_.end(), listeners.begin(), listeners.end());
  for (base::UniqueFd& socket : sockets) sockets_.push_back(std::move(socket));
  if (connection_.valid() && !tell_listeners(before).ok()) lost();
}

json EgressLink::policy() const {
  NetworkQuota quota = spec_.network_quota;
  if (quota.bytes_left) *quota.bytes_left -= bytes_used_;
  if (quota.principal_day == utc_day_now()) quota.principal_bytes_left -= bytes_used_;
  return {{"rules", rules_to_json(spec_.network)},
          {"credentials", credentials_to_json(spec_.credentials)},
          {"addresses", spec_.network_addresses},
          {"quota", quota_to_json(quota)},
          {"private_hosts", rules_to_json(spec_.private_hosts)},
          {"denied_addresses", ranges_to_json(spec_.denied_addresses)},
          {"proxy", proxy_to_json(spec_.network_proxy)},
          {"kept_hosts", spec_.kept_hosts}};
}

void EgressLink::tell_rules() {
  if (!connection_.valid()) return;  // the next door is told of them anyway
  json message = policy();
  message["op"] = "rules";
  if (!base::send_packet(connection_.get(), base::print_json(message), nullptr, 0).ok()) lost();
}

void EgressLink::hold(bool is_held) {
  if (std::exchange(is_held_, is_held) == is_held || !connection_.valid()) return;
  if (is_held) return loop_.forget(connection_.get());
  if (!listen().ok()) lost();
}

void EgressLink::finish() {
  loop_.cancel(retry_);
  is_finishing_ = true;
  if (!connection_.valid()) return;
  const auto deadline = std::chrono::steady_clock::now() + kEndPatience;
  const auto said =
      base::send_packet(connection_.get(), base::print_json({{"op", "close"}}), nullptr, 0);
  while (said.ok() && connection_.valid() && !has_ended_) {
    const auto events = base::wait_for(connection_.get(), POLLIN, deadline);
    if (!events.ok() || events.value() == 0) break;
    read_events();
  }
  if (connection_.valid()) lost();
}

void EgressLink::catch_up() {
  if (is_held_) return;
  for (int taken = 0; connection_.valid() && taken < kCaughtUpMost; ++taken) {
    const auto events = base::wait_for(connection_.get(), POLLIN, std::chrono::steady_clock::now());
    if (!events.ok() || events.value() == 0) return;
    read_events();
  }
}

void EgressLink::read_events() {
  auto packet = base::receive_packet(connection_.get(), wire::kEgressEventBytesMax);
  if (!packet.ok() || packet.value().bytes.empty()) return lost();
  const auto event = base::parse_json(packet.value().bytes);
  if (!event.ok() || !event.value().is_object()) return lost();
  attempts_ = 0;
  const std::string kind = base::string_or(event.value(), "event");
  if (kind == "ended") has_ended_ = true;
  if (kind == "wanted") {
    if (!is_finishing_) hand_over(base::string_or(event.value(), "credential"));
    return;
  }
  bytes_used_ += base::integer_or(event.value(), "used", 0);
  told_(event.value());
}

// The value goes from the program that unseals it to the door: it is never in this process.
void EgressLink::hand_over(const std::string& credential) {
  std::erase_if(handing_over_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  const auto started = start_handing_over(credential);
  const int fd = started.ok() ? started.value().get() : -1;
  const std::string message = base::print_json({{"op", "credential"}, {"name", credential}});
  if (!base::send_packet(connection_.get(), message, &fd, started.ok() ? 1 : 0).ok()) lost();
}

base::Result<base::UniqueFd> EgressLink::start_handing_over(const std::string& credential) {
  const bool is_known =
      std::any_of(spec_.credentials.begin(), spec_.credentials.end(),
                  [&credential](const Credential& known) { return known.name == credential; });
  if (!is_known) return base::error(Error::Kind::kInvalid, "no credential of this session");
  const base::UniqueFd null = TRY(base::open_file(AT_FDCWD, "/dev/null", O_RDWR));
  base::Pipe pipe = TRY(base::make_pipe());
  const std::string state = spec_.egress_directory.substr(0, spec_.egress_directory.rfind('/'));
  base::SpawnOptions options;
  options.arguments = {spec_.program_directory + "/hutch",
                       "--state-dir",
                       state,
                       "credential",
                       "hand-over",
                       credential};
  options.descriptors = {null.get(), pipe.write_end.get(), STDERR_FILENO};
  options.own_session = true;
  handing_over_.push_back(TRY(base::spawn(options)));
  return std::move(pipe.read_end);
}

void EgressLink::lost() {
  loop_.forget(connection_.get());
  connection_.reset();
  told_({{"event", "lost"}});
  if (!is_finishing_) try_again();
}

void EgressLink::try_again() {
  const auto pause = kRetryPause * (1 << std::min(attempts_++, kDoublingsMax));
  retry_ = loop_.after(pause, [this] {
    retry_ = 0;
    if (connect().ok()) return;
    connection_.reset();
    try_again();
  });
}

}  // namespace sandbox::box
