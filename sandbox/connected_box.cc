#include "sandbox/connected_box.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/shortened_text.h"
#include "sandbox/service_cgroup.h"

namespace sandbox {

using base::Error;
using nlohmann::json;
using std::chrono::milliseconds;

namespace {

// A box does nothing that takes this long: one that has not answered by then is ended. Clients give
// up after 60 seconds, and hear of it before.
constexpr milliseconds kPatience{30'000};
constexpr milliseconds kWaitSlice{5000};
// A server that has no room for a connection makes it wait; who wants it waits with it.
constexpr milliseconds kConnectPatience{100};
constexpr std::size_t kPooledMax = 16;
constexpr std::size_t kHeldByCharactersMost = 300;

// Waits a moment for a socket that is about to be connected. Returns 0 when it is or may come to
// be, else the errno of why it is not.
base::Result<int> connection_of(int socket_fd) {
  const auto deadline = std::chrono::steady_clock::now() + kConnectPatience;
  if (TRY(base::wait_for(socket_fd, POLLOUT, deadline)) == 0) return 0;
  int failure = 0;
  socklen_t size = sizeof failure;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) {
    return Error::from_errno("getsockopt");
  }
  return failure;
}

base::Status wait_for_end(BoxConnection& connection, milliseconds patience = kPatience) {
  if (connection.wait_for_end(patience)) return base::done();
  return base::error(Error::Kind::kConflict,
                     "the session is storing what it knows, which takes a while: try again in a "
                     "moment");
}

// A box of another build takes no new run: it would run by rules that are not ours. What it has
// begun it finishes; then it ends, and the session goes on in a new one.
base::Status make_way(BoxConnection connection) {
  const std::size_t active = TRY(ask_status(connection, kPatience)).active.size();
  if (active > 0) {
    return base::error(
        Error::Kind::kConflict,
        "hutch was replaced by another build while this session had " + std::to_string(active) +
            " runs in progress: wait for them with get_run or end them with "
            "cancel_run, then try again; its variables are stored then, as far as they can be");
  }
  TRY(connection.call(
      {{"op", "shutdown"}, {"if_idle", true}, {"why", "hutch was replaced by another build"}},
      kPatience));
  TRY(wait_for_end(connection));
  return base::error(Error::Kind::kUnavailable, "the sandbox was of another build, and ended");
}

}  // namespace

base::Result<BoxStatus> ask_status(BoxConnection& connection, milliseconds patience) {
  const json reply = TRY(connection.call({{"op", "status"}}, patience));
  BoxStatus status;
  status.paused = base::boolean_or(reply, "paused", false);
  status.paused_on_request = base::boolean_or(reply, "paused_on_request", status.paused);
  status.is_storing = base::boolean_or(reply, "is_storing", false);
  status.held_by = base::string_or(reply, "held_by");
  status.held_by.resize(base::printed_prefix(status.held_by, kHeldByCharactersMost));
  status.attached = base::boolean_or(reply, "attached", true);
  auto isolation = isolation_from_json(reply.value("isolation", json::object()));
  if (!isolation.ok()) return connection.end_box(isolation.error().message);
  status.isolation = std::move(isolation).value();
  const json usage = reply.value("usage", json::object());
  status.usage = {
      base::integer_or(usage, "memory_bytes", 0), base::integer_or(usage, "cache_bytes", 0),
      base::integer_or(usage, "processor_time_us", 0), base::integer_or(usage, "disk_bytes", 0)};
  const json contexts = reply.value("contexts", json::object());
  for (const auto& [name, context] : contexts.items()) {
    const auto language = find_language(base::string_or(context, "language"));
    if (!language) return connection.end_box("a context has no known language");
    status.contexts.emplace(name, RunContext{*language, base::string_or(context, "directory")});
  }
  const json active = reply.value("active", json::array());
  for (const json& entry : active) {
    auto run = run_from_json(entry);
    if (!run.ok()) return connection.end_box(run.error().message);
    status.active.push_back(std::move(run).value());
  }
  return status;
}

base::Status ConnectedBox::connect() {
  auto connection = take_idle();
  if (!connection) {
    connection = TRY(BoxConnection::open(session_directory_, detach_seconds_, attach_));
  }
  give_back(*std::move(connection));
  return base::done();
}

bool ConnectedBox::usable() {
  const std::lock_guard lock(mutex_);
  return !idle_.empty() && idle_.back().usable();
}

base::UniqueFd ConnectedBox::process() {
  const std::lock_guard lock(mutex_);
  return idle_.empty() ? base::UniqueFd() : idle_.back().process();
}

base::Status ConnectedBox::submit(const RunRequest& request) {
  BoxConnection connection = TRY(take());
  if (!connection.of_this_build()) return make_way(std::move(connection));
  TRY(call(std::move(connection), {{"op", "submit"}, {"request", request_to_json(request)}}));
  return base::done();
}

// In slices: a box that has fallen silent is noticed long before the wait is over.
base::Result<Run> ConnectedBox::wait(const std::string& run_id, const WaitOptions& options,
                                     std::stop_token stop) {
  const auto deadline = std::chrono::steady_clock::now() + options.timeout;
  WaitOptions slice = options;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    slice.timeout = std::clamp(left, milliseconds(0), kWaitSlice);
    Run run = TRY(wait_slice(run_id, slice, stop));
    slice.wakes = false;  // whoever pauses it meanwhile means it
    const bool output = options.until_output && (run.stdout_bytes > options.stdout_offset ||
                                                 run.stderr_bytes > options.stderr_offset);
    if (is_terminal(run.status) || output || left <= kWaitSlice) return run;
  }
}

base::Status ConnectedBox::cancel(const std::string& run_id) {
  TRY(call({{"op", "cancel"}, {"run_id", run_id}}));
  return base::done();
}

base::Result<RunInput> ConnectedBox::input_of(const std::string& run_id) {
  json reply;
  RunInput input;
  input.fd = TRY(call_for_fd({{"op", "input"}, {"run_id", run_id}}, reply));
  input.is_terminal = base::boolean_or(reply, "terminal", false);
  return input;
}

base::Status ConnectedBox::end_input(const std::string& run_id) {
  TRY(call({{"op", "end_input"}, {"run_id", run_id}}));
  return base::done();
}

base::Status ConnectedBox::end_context(const std::string& context) {
  TRY(call({{"op", "end_context"}, {"context", context}}));
  return base::done();
}

base::Result<BoxStatus> ConnectedBox::status() {
  BoxConnection connection = TRY(take());
  auto status = ask_status(connection, kPatience);
  if (!status.ok()) return failed(std::move(connection), status.error(), {});
  give_back(std::move(connection));
  return status;
}

base::Status ConnectedBox::pause() {
  TRY(call({{"op", "pause"}}));
  return base::done();
}

base::Status ConnectedBox::resume() {
  TRY(call({{"op", "resume"}}));
  return base::done();
}

base::Status ConnectedBox::keep_awake() {
  TRY(call({{"op", "in_use"}}));
  return base::done();
}

base::Status ConnectedBox::taken() {
  TRY(call({{"op", "taken"}}));
  return base::done();
}

base::Status ConnectedBox::end_with_connection() {
  TRY(call({{"op", "end_with_connection"}}));
  return base::done();
}

base::Status ConnectedBox::allow(const std::vector<NetworkRule>& rules, bool take_back) {
  TRY(call({{"op", "allow"}, {"rules", rules_to_json(rules)}, {"take_back", take_back}}));
  return base::done();
}

base::Status ConnectedBox::set_network(const BoxNetwork& network) {
  BoxConnection connection = TRY(take());
  if (!connection.of_this_build()) {
    return base::error(Error::Kind::kUnsupported,
                       "its processes are of an earlier hutch: this holds once they start anew");
  }
  give_back(std::move(connection));
  TRY(call({{"op", "network"},
            {"rules", rules_to_json(network.rules)},
            {"credentials", credentials_to_json(network.credentials)},
            {"denied_addresses", ranges_to_json(network.denied_addresses)}}));
  return base::done();
}

base::Result<base::UniqueFd> ConnectedBox::root() {
  json reply;
  return call_for_fd({{"op", "root"}}, reply);
}

base::Result<base::UniqueFd> ConnectedBox::connect(std::uint16_t port) {
  // Some listen on "localhost", and mean only what that is in the newer family.
  for (const bool six : {false, true}) {
    json reply;
    auto called = call_for_fd({{"op", "connect"}, {"port", port}, {"six", six}}, reply);
    if (!called.ok() && called.error().kind == Error::Kind::kNotFound) continue;
    base::UniqueFd socket = TRY(std::move(called));
    const int failure = TRY(connection_of(socket.get()));
    if (failure == 0) return socket;
    if (failure == ECONNREFUSED) continue;
    errno = failure;
    return Error::from_errno("connect to port " + std::to_string(port));
  }
  return base::error(Error::Kind::kNotFound,
                     "nothing listens on port " + std::to_string(port) + " of the session");
}

base::Status ConnectedBox::set_lifetime(std::int64_t ends_in_ms, bool pauses) {
  // A box of an older build asks for the wall clock.
  TRY(call({{"op", "lifetime"},
            {"ends_in_ms", ends_in_ms},
            {"pauses", pauses},
            {"ends_at_ms", base::now_ms() + ends_in_ms}}));
  return base::done();
}

base::Status ConnectedBox::take_disk_room(std::int64_t bytes, RoomFor what) {
  BoxConnection connection = TRY(take());
  // One of another build may not know the question; its watch goes on all the same.
  if (!connection.of_this_build()) return base::done();
  auto reply = connection.call(
      {{"op", "disk_room"}, {"bytes", bytes}, {"for_upload", what == RoomFor::kUpload}}, kPatience);
  if (!reply.ok()) return failed(std::move(connection), reply.error(), {});
  give_back(std::move(connection));
  return base::done();
}

// One of another build, which promised nothing, would answer.
void ConnectedBox::disk_written(std::int64_t bytes) {
  auto connection = take();
  if (!connection.ok()) return;
  const bool is_told =
      !connection.value().of_this_build() ||
      connection.value()
          .tell({{"op", "disk_written"}, {"bytes", bytes}, {"answer", false}}, kPatience)
          .ok();
  if (is_told) give_back(std::move(connection).value());
}

base::Status ConnectedBox::shutdown(const std::string& why, milliseconds patience) {
  BoxConnection connection = TRY(take());
  TRY(connection.call({{"op", "shutdown"}, {"why", why}}, kPatience));
  return wait_for_end(connection, patience);
}

base::Status ConnectedBox::shutdown_revoked(const std::string& why) {
  BoxConnection connection = TRY(take());
  TRY(connection.call({{"op", "shutdown"}, {"why", why}, {"revoked", true}}, kPatience));
  return wait_for_end(connection);
}

base::Status ConnectedBox::shutdown_for_good() {
  BoxConnection connection = TRY(take());
  TRY(connection.call({{"op", "shutdown"}, {"for_good", true}}, kPatience));
  return wait_for_end(connection);
}

base::Status ConnectedBox::shutdown_if_idle(const std::string& why) {
  BoxConnection connection = TRY(take());
  TRY(connection.call({{"op", "shutdown"}, {"if_idle", true}, {"why", why}}, kPatience));
  return wait_for_end(connection);
}

bool ConnectedBox::ends_with_service() {
  auto connection = take();
  if (!connection.ok()) return false;
  const bool ends = is_in_our_cgroup(connection.value().pid());
  give_back(std::move(connection).value());
  return ends;
}

base::Result<json> ConnectedBox::call(const json& request) { return call(TRY(take()), request); }

base::Result<json> ConnectedBox::call(BoxConnection connection, const json& request) {
  auto reply = connection.call(request, kPatience);
  if (!reply.ok()) return failed(std::move(connection), reply.error(), {});
  give_back(std::move(connection));
  return reply;
}

base::Result<base::UniqueFd> ConnectedBox::call_for_fd(const json& request, json& reply) {
  BoxConnection connection = TRY(take());
  auto answered = connection.call(request, kPatience);
  if (!answered.ok()) return failed(std::move(connection), answered.error(), {});
  base::UniqueFd fd = TRY(connection.receive_fd(kPatience));
  give_back(std::move(connection));
  reply = std::move(answered).value();
  return fd;
}

base::Error ConnectedBox::failed(BoxConnection connection, Error failure,
                                 const std::stop_token& stop) {
  if (failure.kind != Error::Kind::kUnavailable) {
    give_back(std::move(connection));
  } else if (stop.stop_requested()) {
    // An answer may still come, to a question nobody asks any more: another connection tells the
    // box that it is used.
    (void)connect();
  } else {
    // The other connections lead to the same box: without them the next call says hello first,
    // which tells how it is.
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }
  return failure;
}

base::Result<Run> ConnectedBox::wait_slice(const std::string& run_id, const WaitOptions& options,
                                           const std::stop_token& stop) {
  BoxConnection connection = TRY(take());
  const auto reply = connection.call({{"op", "wait"},
                                      {"run_id", run_id},
                                      {"until", options.until_output ? "output" : "end"},
                                      {"stdout_offset", options.stdout_offset},
                                      {"stderr_offset", options.stderr_offset},
                                      {"wakes", options.wakes},
                                      {"timeout_ms", options.timeout.count()}},
                                     options.timeout + kPatience, stop);
  if (!reply.ok()) return failed(std::move(connection), reply.error(), stop);
  auto run = run_from_json(reply.value().value("run", json()));
  if (!run.ok()) return connection.end_box(run.error().message);
  if (run.value().run_id != run_id) return connection.end_box("it answered with another run");
  give_back(std::move(connection));
  return run;
}

std::optional<BoxConnection> ConnectedBox::take_idle() {
  const std::lock_guard lock(mutex_);
  while (!idle_.empty()) {
    BoxConnection connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection.usable()) return connection;
  }
  return std::nullopt;
}

base::Result<BoxConnection> ConnectedBox::take() {
  if (auto idle = take_idle()) return *std::move(idle);
  auto opened = BoxConnection::open(session_directory_, detach_seconds_, attach_);
  // A box that was found and takes its socket down is about to end, as one that hangs up is.
  if (!opened.ok() && opened.error().kind == Error::Kind::kNotFound) {
    return base::error(Error::Kind::kUnavailable, "the sandbox has ended");
  }
  return opened;
}

void ConnectedBox::give_back(BoxConnection connection) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kPooledMax) idle_.push_back(std::move(connection));
}

}  // namespace sandbox
