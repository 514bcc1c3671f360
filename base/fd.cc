#include "base/fd.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace base {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int UniqueFd::release() { return std::exchange(fd_, -1); }

void UniqueFd::reset() {
  // Linux frees the descriptor even when close() reports an error, so there is nothing to retry.
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno("pipe2");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> duplicate(int fd) {
  UniqueFd other(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!other.valid()) return Error::from_errno("fcntl F_DUPFD_CLOEXEC");
  return other;
}

Result<SocketPair> make_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno("socketpair");
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<UniqueFd> make_memory_file(const char* name, std::string_view content) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) return Error::from_errno("memfd_create");
  TRY(write_all(fd.get(), content));
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return Error::from_errno("lseek");
  return fd;
}

Result<UniqueFd> open_file(int directory_fd, const std::string& path, int flags, mode_t mode) {
  UniqueFd fd(::openat(directory_fd, path.c_str(), flags | O_CLOEXEC, mode));
  if (fd.valid()) return fd;
  const auto kind = errno == ENOENT ? Error::Kind::kNotFound : Error::Kind::kInternal;
  return Error::from_errno("open " + path, kind);
}

std::vector<std::string> names_in(int directory_fd) {
  std::vector<std::string> names;
  // "." of a descriptor is that directory with a position of its own.
  UniqueFd fd(::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), &::closedir);
  if (!directory) return names;
  (void)fd.release();  // the DIR owns it now

  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT: a DIR of our own
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  return names;
}

Status set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return Error::from_errno("fcntl O_NONBLOCK");
  }
  return done();
}

namespace {

// send() where it applies, so that a peer that went away is EPIPE and not a signal.
ssize_t write_some(int fd, std::string_view data) {
  const ssize_t sent = ::send(fd, data.data(), data.size(), MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return ::write(fd, data.data(), data.size());
}

}  // namespace

Status write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = write_some(fd, data);
    if (written >= 0) {
      data.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Error::from_errno("write", Error::Kind::kUnavailable);
    pollfd entry{fd, POLLOUT, 0};
    if (::poll(&entry, 1, -1) < 0 && errno != EINTR) return Error::from_errno("poll");
  }
  return done();
}

Result<std::string> read_all(int fd, std::size_t limit_bytes) {
  std::string content;
  char buffer[16384];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got == 0) return content;
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno("read");
    }
    content.append(buffer, static_cast<std::size_t>(got));
    if (content.size() > limit_bytes) {
      return error(Error::Kind::kLimit, "larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
}

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&::free)> real(::realpath(path.c_str(), nullptr), &::free);
  if (!real) return std::nullopt;
  return std::string(real.get());
}

std::string text_of_file(const std::string& path) {
  constexpr std::size_t kBytesMax = 1 << 20;
  const auto file = open_file(AT_FDCWD, path, O_RDONLY);
  if (!file.ok()) return {};
  auto text = read_all(file.value().get(), kBytesMax);
  return text.ok() ? std::move(text).value() : std::string();
}

Result<std::string> read_at(int fd, off_t offset, std::size_t size) {
  std::string content(size, '\0');
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got =
        ::pread(fd, content.data() + filled, size - filled, offset + static_cast<off_t>(filled));
    if (got == 0) break;
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno("pread");
    }
    filled += static_cast<std::size_t>(got);
  }
  content.resize(filled);
  return content;
}

Result<short> wait_for(int fd, short events, std::chrono::steady_clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now() + std::chrono::microseconds(999));
    const auto timeout_ms = static_cast<int>(
        std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 1'000'000'000));
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, timeout_ms);
    if (ready > 0) return entry.revents;
    if (ready < 0 && errno != EINTR) return Error::from_errno("poll");
    if (ready == 0) return short{0};
  }
}

}  // namespace base
