// Owning file descriptors, and the few operations on them that every layer needs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace base {

// Owns one descriptor. There is no operator bool: descriptor 0 is valid, so `if (fd)` would
// mislead.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  [[nodiscard]] int release();
  void reset();

 private:
  int fd_ = -1;
};

// Returns another descriptor of the same open file, which closes on exec.
Result<UniqueFd> duplicate(int fd);

// Both ends close on exec.
struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
Result<Pipe> make_pipe();

// A SocketPair is a connected pair of Unix sockets; `type` is SOCK_STREAM or SOCK_SEQPACKET. Both
// close on exec.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<SocketPair> make_socket_pair(int type);

// Returns an anonymous file in memory that holds `content`, read position at 0.
Result<UniqueFd> make_memory_file(const char* name, std::string_view content);

Result<UniqueFd> open_file(int directory_fd, const std::string& path, int flags, mode_t mode = 0);

// Returns the absolute path that `path` leads to, without links; nothing, and why in errno, where
// nothing is there.
std::optional<std::string> real_path(const std::string& path);

// Returns the names in a directory but for those that begin with a dot, in the kernel's order; none
// when it cannot be read.
std::vector<std::string> names_in(int directory_fd);

Status set_nonblocking(int fd);

// Writes all of `data`, waiting where the descriptor would block. Never raises SIGPIPE on sockets.
Status write_all(int fd, std::string_view data);

// Reads until end of file. An Error of kind kLimit when there are more than `limit_bytes`.
Result<std::string> read_all(int fd, std::size_t limit_bytes);

// Returns what is in a short file of the kernel, as those of /proc are; empty when it cannot be
// opened or read, which those of a process that ends meanwhile cannot.
std::string text_of_file(const std::string& path);

// Reads up to `size` bytes at `offset`; shorter only at end of file.
Result<std::string> read_at(int fd, off_t offset, std::size_t size);

// Waits until one of `events` (poll(2)) or the deadline. Returns the events, 0 when time is up.
Result<short> wait_for(int fd, short events, std::chrono::steady_clock::time_point deadline);

}  // namespace base
