#include "mcp/outbox.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

namespace mcp {
namespace {

constexpr int kPollMs = 100;
constexpr std::size_t kSocketPiece = 64U << 10;
// A pipe that poll(2) calls writable takes this much without blocking: one page, see pipe(7).
constexpr std::size_t kPipePiece = 4096;

// A client that went away must be an error here, not a signal.
void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  (void)::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

ssize_t write_some(int fd, std::string_view bytes) {
  const ssize_t sent =
      ::send(fd, bytes.data(), std::min(bytes.size(), kSocketPiece), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return ::write(fd, bytes.data(), std::min(bytes.size(), kPipePiece));
}

}  // namespace

Outbox::Outbox(int fd, std::size_t bytes_max)
    : fd_(fd),
      bytes_max_(bytes_max),
      closed_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this](const std::stop_token& stop) { write_lines(stop); }) {}

Outbox::~Outbox() {
  close();
  thread_.join();
  if (closed_fd_ >= 0) ::close(closed_fd_);
}

bool Outbox::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void Outbox::close() {
  thread_.request_stop();
  const std::lock_guard lock(mutex_);
  close_locked();
}

void Outbox::close_locked() {
  closed_ = true;
  lines_.clear();
  bytes_ = 0;
  const std::uint64_t one = 1;
  if (closed_fd_ >= 0) (void)!::write(closed_fd_, &one, sizeof one);
  changed_.notify_all();
}

void Outbox::enqueue(std::string line) {
  if (closed_) return;
  bytes_ += line.size();
  lines_.push_back(std::move(line));
  changed_.notify_all();
}

void Outbox::send(std::string line) {
  line += '\n';
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || bytes_ == 0 || bytes_ + line.size() <= bytes_max_; });
  enqueue(std::move(line));
}

void Outbox::send_now(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  enqueue(std::move(line));
}

void Outbox::send_if_room(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  if (bytes_ + line.size() <= bytes_max_) enqueue(std::move(line));
}

bool Outbox::wait_for_room(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return closed_ || bytes_ < bytes_max_; });
}

bool Outbox::drain(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return closed_ || bytes_ == 0; });
}

void Outbox::write_lines(const std::stop_token& stop) {
  block_sigpipe();
  while (!stop.stop_requested()) {
    std::string line;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !lines_.empty(); })) return;
      line = std::move(lines_.front());
      lines_.pop_front();
    }
    const bool written = write_line(line, stop);
    const std::lock_guard lock(mutex_);
    if (!written) close_locked();
    // Counted until it has left, so that "nothing waits" means "everything is out".
    bytes_ -= std::min(bytes_, line.size());
    changed_.notify_all();
  }
}

bool Outbox::write_line(const std::string& line, const std::stop_token& stop) const {
  std::string_view rest = line;
  while (!rest.empty() && !stop.stop_requested()) {
    pollfd entry{fd_, POLLOUT, 0};
    const int ready = ::poll(&entry, 1, kPollMs);
    if (ready < 0 && errno != EINTR) return false;
    if (ready <= 0) continue;
    const ssize_t written = write_some(fd_, rest);
    if (written < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return rest.empty();
}

}  // namespace mcp
