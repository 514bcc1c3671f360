#include "sandbox/box/control.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/wire/build_id.h"

namespace sandbox::box {

using base::Error;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kClientsMax = 256;
// Output comes in many small pieces: those who follow it are told at most this often.
constexpr milliseconds kOutputPace{50};
constexpr milliseconds kTerminalPace{4};  // a person sees what the keys do
constexpr milliseconds kAcceptPause{100};
constexpr std::int64_t kDetachSecondsMax = 86400;

bool same_user(int socket_fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

}  // namespace

base::Result<std::unique_ptr<Control>> Control::listen(EventLoop& loop, base::UniqueFd socket,
                                                       Actions actions) {
  std::unique_ptr<Control> control(new Control(loop, std::move(socket), std::move(actions)));
  TRY(base::set_nonblocking(control->socket_.get()));
  TRY(loop.watch(control->socket_.get(), EPOLLIN,
                 [raw = control.get()](std::uint32_t) { raw->accept(); }));
  return control;
}

Control::~Control() { loop_.forget(socket_.get()); }

void Control::accept() {
  base::UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid() && (errno == EMFILE || errno == ENFILE)) return accept_later();
  if (!socket.valid() || clients_.size() >= kClientsMax || !same_user(socket.get())) return;
  Client& client = clients_.emplace_back();
  Connection::Events events;
  events.request = [this, &client](const json& request) { handle(client, request); };
  events.closed = [this, &client] { drop(client); };
  client.connection = std::make_unique<Connection>(loop_, std::move(socket), std::move(events));
  if (!client.connection->start().ok()) drop(client);
}

// There is no descriptor for it, and it would stay an event.
void Control::accept_later() {
  if (!loop_.change(socket_.get(), 0).ok()) return;
  loop_.after(kAcceptPause, [this] { (void)loop_.change(socket_.get(), EPOLLIN); });
}

void Control::drop(Client& client) {
  if (client.gone) return;
  client.gone = true;
  if (client.attached && --attached_count_ == 0) actions_.servers_are_gone();
  loop_.cancel(client.timeout);
  loop_.cancel(client.soon);
  // Later: this may be called by the connection that would be destroyed.
  loop_.after(milliseconds(0),
              [this] { clients_.remove_if([](const Client& c) { return c.gone; }); });
}

void Control::handle(Client& client, const json& request) {
  if (client.waiting) return drop(client);  // one request at a time
  auto reply = answer(client, request);
  if (!reply.ok()) return client.connection->reply(wire::error_reply(reply.error()));
  if (reply.value().is_null()) return;  // answered, or to be answered later
  reply.value()["ok"] = true;
  client.connection->reply(reply.value());
}

base::Status Control::greet(Client& client, const json& request) {
  if (base::integer_or(request, "protocol", 0) != wire::kBoxProtocol) {
    return base::error(Error::Kind::kUnsupported,
                       "the sandbox of this session speaks protocol " +
                           std::to_string(wire::kBoxProtocol) +
                           " and belongs to another version of hutch: end that one's servers; the "
                           "sandbox then ends within " +
                           std::to_string(detach_seconds_.value_or(0)) + " seconds, files stay");
  }
  if (client.greeted) return base::done();
  client.greeted = true;
  client.attached = base::boolean_or(request, "attach", true);
  if (!client.attached) return base::done();  // only looks: the box does not stay for it
  ++attached_count_;
  const auto wished = base::integer_or(request, "detach_seconds", 0);
  detach_seconds_ =
      std::clamp<std::int64_t>(std::max(wished, detach_seconds_.value_or(0)), 0, kDetachSecondsMax);
  return base::done();
}

base::Result<json> Control::answer(Client& client, const json& request) {
  const std::string op = base::string_or(request, "op");
  if (op == "hello") {
    TRY(greet(client, request));
    return json{{"protocol", wire::kBoxProtocol}, {"build", wire::kBuildId}};
  }
  if (!client.greeted) return base::error(Error::Kind::kInvalid, "say hello first");
  const std::string run_id = base::string_or(request, "run_id");
  if (!run_id.empty() || op == "submit") return answer_of_run(client, op, run_id, request);
  if (op == "status") return actions_.status();
  if (op == "root") {
    hand_over_root(client);
    return json();
  }
  if (op == "disk_written") {
    actions_.disk_written(base::integer_or(request, "bytes", 0));
    // Servers of an earlier build wait for an answer, and end a box that gives none.
    return base::boolean_or(request, "answer", true) ? json::object() : json();
  }
  if (op == "connect") {
    TRY(hand_over_connection(client, request));
    return json();
  }
  const bool is_done = TRY(act(op, request));
  if (is_done) return json::object();
  const bool is_set = TRY(set(op, request));
  if (is_set) return json::object();
  return base::error(Error::Kind::kInvalid, "unknown op");
}

base::Result<bool> Control::act(const std::string& op, const json& request) {
  if (op == "pause") {
    TRY(actions_.pause());
  } else if (op == "resume") {
    TRY(actions_.resume());
  } else if (op == "in_use") {
    actions_.in_use();
  } else if (op == "taken") {
    actions_.taken();
  } else if (op == "end_with_connection") {
    actions_.end_with_connection();
  } else if (op == "end_context") {
    actions_.used();
    TRY(actions_.runs().end_context(base::string_or(request, "context")));
  } else if (op == "disk_room") {
    actions_.used();
    const bool for_upload = base::boolean_or(request, "for_upload", false);
    TRY(actions_.take_disk_room(base::integer_or(request, "bytes", 0),
                                for_upload ? RoomFor::kUpload : RoomFor::kFile));
  } else if (op == "shutdown") {
    if (base::boolean_or(request, "if_idle", false) && actions_.runs().busy()) {
      return base::error(Error::Kind::kConflict, "runs are in progress");
    }
    const std::string why = base::string_or(request, "why");
    const Ending ending = base::boolean_or(request, "for_good", false)  ? Ending::kForGood
                          : base::boolean_or(request, "revoked", false) ? Ending::kRevoked
                                                                        : Ending::kStored;
    actions_.shutdown(why.empty() ? "the session was ended" : why, ending);
  } else {
    return false;
  }
  return true;
}

base::Result<bool> Control::set(const std::string& op, const json& request) {
  if (op == "allow") {
    const auto rules = TRY(rules_from_json(request.value("rules", json::array())));
    TRY(actions_.allow(rules, base::boolean_or(request, "take_back", false)));
  } else if (op == "network") {
    BoxNetwork network;
    network.rules = TRY(rules_from_json(request.value("rules", json::array())));
    network.credentials = TRY(credentials_from_json(request.value("credentials", json::array())));
    network.denied_addresses =
        TRY(ranges_from_json(request.value("denied_addresses", json::array())));
    TRY(actions_.set_network(std::move(network)));
  } else if (op == "lifetime") {
    // A server of an older build has only the wall clock.
    const std::int64_t wall_ms = base::integer_or(request, "ends_at_ms", 0) - base::now_ms();
    actions_.set_lifetime(base::integer_or(request, "ends_in_ms", wall_ms),
                          request.value("pauses", json(false)) == json(true));
  } else {
    return false;
  }
  return true;
}

base::Result<json> Control::answer_of_run(Client& client, const std::string& op,
                                          const std::string& run_id, const json& request) {
  if (op == "submit") {
    actions_.used();
    RunRequest run = TRY(request_from_json(request.value("request", json())));
    TRY(actions_.runs().submit(std::move(run)));
    return json::object();
  }
  if (op == "wait") {
    if (actions_.runs().find(run_id) == nullptr) {
      return base::error(Error::Kind::kNotFound, "no such run in this box");
    }
    if (base::boolean_or(request, "wakes", false)) actions_.used();
    start_waiting(client, request);
    return json();
  }
  if (op == "input") {
    actions_.used();
    const Runs::RunInput input = TRY(actions_.runs().input_of(run_id));
    hand_over(client, input.fd, {{"terminal", input.is_terminal}});
    return json();
  }
  if (op == "end_input") {
    actions_.used();
    TRY(actions_.runs().end_input(run_id));
    return json::object();
  }
  if (op == "cancel") {
    actions_.used();
    TRY(actions_.runs().cancel(run_id));
    return json::object();
  }
  return base::error(Error::Kind::kInvalid, "unknown op");
}

void Control::hand_over(const Client& client, int fd, json reply) {
  reply["ok"] = true;
  client.connection->reply(reply);
  client.connection->send_fd(fd);
}

base::Status Control::hand_over_connection(const Client& client, const json& request) {
  const std::int64_t port = base::integer_or(request, "port", 0);
  if (port < 1 || port > 65535) return base::error(Error::Kind::kInvalid, "no port");
  actions_.used();
  const int family = base::boolean_or(request, "six", false) ? AF_INET6 : AF_INET;
  const base::UniqueFd socket = TRY(actions_.connect(family, static_cast<std::uint16_t>(port)));
  hand_over(client, socket.get(), json::object());
  return base::done();
}

void Control::hand_over_root(const Client& client) {
  // Who only looks neither uses the session nor changes its files.
  if (client.attached) {
    actions_.used();
    actions_.runs().files_touched();
  }
  hand_over(client, actions_.root_fd(), json::object());
}

void Control::start_waiting(Client& client, const json& request) {
  client.waiting = {.run_id = base::string_or(request, "run_id"),
                    .until_output = base::string_or(request, "until") == "output",
                    .stdout_offset = base::integer_or(request, "stdout_offset", 0),
                    .stderr_offset = base::integer_or(request, "stderr_offset", 0)};
  if (answer_wait(client, false)) return;
  const auto timeout =
      std::clamp<std::int64_t>(base::integer_or(request, "timeout_ms", 0), 0, wire::kBoxWaitMsMax);
  client.timeout = loop_.after(milliseconds(timeout), [this, &client] {
    client.timeout = 0;
    (void)answer_wait(client, true);
  });
}

bool Control::answer_wait(Client& client, bool time_is_up) {
  if (!client.waiting) return true;
  const Wait& wait = *client.waiting;
  const Run* run = actions_.runs().find(wait.run_id);
  bool due = time_is_up || run == nullptr || is_terminal(run->status);
  if (!due && wait.until_output) {
    due = run->stdout_bytes > wait.stdout_offset || run->stderr_bytes > wait.stderr_offset;
  }
  if (!due) return false;
  loop_.cancel(client.timeout);
  client.waiting.reset();
  if (run == nullptr) {
    client.connection->reply(
        wire::error_reply(base::error(Error::Kind::kNotFound, "no such run in this box")));
  } else {
    client.connection->reply({{"ok", true}, {"run", run_to_json(*run)}});
    if (is_terminal(run->status)) actions_.runs().end_was_told();
  }
  return true;
}

void Control::run_changed(const std::string& run_id) {
  for (Client& client : clients_) {
    if (client.gone || !client.waiting) continue;
    if (client.waiting->run_id != run_id) continue;
    const Run* run = actions_.runs().find(run_id);
    if (run == nullptr || is_terminal(run->status)) {
      (void)answer_wait(client, false);
    } else if (client.soon == 0) {
      const auto pace = actions_.runs().is_in_terminal(run_id) ? kTerminalPace : kOutputPace;
      client.soon = loop_.after(pace, [this, &client] {
        client.soon = 0;
        (void)answer_wait(client, false);
      });
    }
  }
}

}  // namespace sandbox::box
