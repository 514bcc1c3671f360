#include "sandbox/box_connection.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/unix_socket.h"
#include "sandbox/session_parts.h"
#include "sandbox/wire/build_id.h"

namespace sandbox {

using base::Error;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kEndPatience{2};
constexpr const char* kSilent = "it does not answer";

Error gone() { return base::error(Error::Kind::kUnavailable, "the sandbox of this session ended"); }

// An eventfd that becomes readable when stop is requested.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop)
      : fd_(stop.stop_possible() ? ::eventfd(0, EFD_CLOEXEC) : -1),
        callback_(stop, [fd = fd_.get()] {
          const std::uint64_t one = 1;
          // Cannot fail on an eventfd whose counter is nearly zero.
          if (fd >= 0) (void)!::write(fd, &one, sizeof one);
        }) {}
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  base::UniqueFd fd_;
  std::stop_callback<std::function<void()>> callback_;
};

// Returns who listens at the other end; 0 where the kernel does not tell. Asked for right after the
// connect, so it lives.
pid_t pid_at(int socket_fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return 0;
  return peer.pid > 1 ? peer.pid : 0;
}

}  // namespace

base::Result<BoxConnection> BoxConnection::open(const std::string& session_directory,
                                                std::int64_t detach_seconds, Attach attach,
                                                std::chrono::milliseconds patience, Silent silent) {
  const base::UniqueFd directory =
      TRY(base::open_file(AT_FDCWD, session_directory, O_PATH | O_DIRECTORY));
  BoxConnection connection(TRY(base::connect_to(directory.get(), kBoxSocketPart, patience)),
                           silent);
  connection.pid_ = pid_at(connection.socket_.get());
  if (connection.pid_ != 0) {
    connection.process_ =
        base::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, connection.pid_, 0)));
  }
  const json reply = TRY(connection.call({{"op", "hello"},
                                          {"protocol", wire::kBoxProtocol},
                                          {"detach_seconds", detach_seconds},
                                          {"attach", attach == Attach::kYes}},
                                         patience));
  connection.of_this_build_ = base::string_or(reply, "build") == wire::kBuildId;
  return connection;
}

base::Result<json> BoxConnection::call(const json& request, std::chrono::milliseconds patience,
                                       const std::stop_token& stop) {
  TRY(tell(request, patience));
  json reply = TRY(receive(patience, stop));
  if (!reply.is_object()) return end_box("its answer is no object");
  TRY(wire::check_reply(reply));
  return reply;
}

base::Status BoxConnection::tell(const json& message, std::chrono::milliseconds patience) {
  const std::string frame = wire::encode_frame('J', base::print_json(message));
  if (frame.size() > wire::kBoxRequestBytesMax) {
    return base::error(Error::Kind::kLimit, "the request is too large for the sandbox");
  }
  return send(frame, patience);
}

base::Status BoxConnection::send(std::string_view frame, std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (!frame.empty()) {
    const ssize_t sent =
        ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      frame.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return gone();
    const auto events = base::wait_for(socket_.get(), POLLOUT, deadline);
    if (!events.ok()) return events.error();
    if (events.value() == 0) return no_answer();
  }
  return base::done();
}

base::Result<json> BoxConnection::receive(std::chrono::milliseconds patience,
                                          const std::stop_token& stop) {
  const StopEvent stopped(stop);
  const auto deadline = Clock::now() + patience;
  wire::FrameDecoder decoder(wire::kBoxReplyBytesMax);
  std::size_t wanted = wire::kFrameHeadBytes;
  std::size_t got_total = 0;
  while (true) {
    pollfd entries[2] = {{socket_.get(), POLLIN, 0}, {stopped.fd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready =
        ::poll(entries, 2, static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
    if (ready < 0 && errno != EINTR) return Error::from_errno("poll");
    if (ready < 0) continue;
    if (ready == 0) return no_answer();
    if (entries[1].revents != 0) return base::error(Error::Kind::kUnavailable, "stopped waiting");
    // Never past the end of this reply: a descriptor may come with the byte after it.
    char buffer[64 * 1024];
    const ssize_t got =
        ::recv(socket_.get(), buffer, std::min(sizeof buffer, wanted - got_total), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone();
    const std::string_view piece(buffer, static_cast<std::size_t>(got));
    decoder.feed(piece);
    for (const char byte : piece) {
      if (got_total < 4) {
        wanted += static_cast<std::size_t>(static_cast<unsigned char>(byte)) << (8 * got_total);
      }
      ++got_total;
    }
    auto frame = decoder.next();
    if (!frame.ok()) return end_box(frame.error().message);
    if (!frame.value()) continue;
    auto reply = base::parse_json(frame.value()->payload);
    if (!reply.ok()) return end_box("its answer is " + reply.error().message);
    return std::move(reply).value();
  }
}

base::Result<base::UniqueFd> BoxConnection::receive_fd(std::chrono::milliseconds patience) {
  const short events = TRY(base::wait_for(socket_.get(), POLLIN, Clock::now() + patience));
  if (events == 0) return no_answer();
  return base::receive_descriptor(socket_.get());
}

Error BoxConnection::no_answer() const {
  if (silent_ == Silent::kEnd) return end_box(kSilent);
  return base::error(Error::Kind::kUnavailable, std::string("the sandbox: ") + kSilent);
}

Error BoxConnection::end_box(const std::string& why) const {
  if (process_.valid()) {
    (void)::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    // Who asks next must not find it dying.
    (void)base::wait_for(process_.get(), POLLIN, Clock::now() + kEndPatience);
  }
  return base::error(Error::Kind::kUnavailable, "the sandbox of this session was ended: " + why);
}

bool BoxConnection::wait_for_end(std::chrono::milliseconds patience) {
  const auto deadline = Clock::now() + patience;
  while (true) {
    const auto events = base::wait_for(socket_.get(), POLLIN, deadline);
    if (!events.ok() || events.value() == 0) return false;
    char discarded[256];
    if (::recv(socket_.get(), discarded, sizeof discarded, 0) > 0) continue;
    // Its locks go with the process, a moment later.
    if (process_.valid()) (void)base::wait_for(process_.get(), POLLIN, deadline);
    return true;
  }
}

base::UniqueFd BoxConnection::process() const {
  if (!process_.valid()) return {};
  return base::UniqueFd(::fcntl(process_.get(), F_DUPFD_CLOEXEC, 3));
}

bool BoxConnection::usable() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  // Nothing may come without a request: readable means closed, or out of step.
  return ::poll(&entry, 1, 0) == 0;
}

}  // namespace sandbox
