// Answers with a file: the kernel sends it, and no memory holds it. sendfile(2).
#include <sys/sendfile.h>

#include <algorithm>
#include <cerrno>

#include "mcp/http/link.h"

namespace mcp::http {
namespace {

constexpr std::size_t kFileTurnBytes = 1U << 20;

}  // namespace

void Link::flush_file() {
  Lock lock(mutex_);
  if (state_ == State::kFlushing && !given_up_) flush(lock);
}

bool Link::send_file(Lock& lock) {
  std::size_t turn = 0;  // others have theirs in between
  while (file_.file && file_.bytes > 0) {
    if (turn >= kFileTurnBytes) return wait_for_room(), false;
    const FileBody part = file_;
    off_t offset = part.offset;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::int64_t>(part.bytes, kFileTurnBytes));
    // Who looks at the time of all connections must not wait for this one's disk.
    lock.unlock();
    const ssize_t sent = ::sendfile(fd_, part.file->get(), &offset, wanted);
    const int failure = errno;
    lock.lock();
    if (state_ != State::kFlushing) return false;
    errno = failure;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_for_room(), false;
    if (sent <= 0) return give_up(), false;  // it has become shorter than was promised
    turn += static_cast<std::size_t>(sent);
    file_.offset += sent;
    file_.bytes -= sent;
    take_more(static_cast<std::size_t>(sent));
  }
  file_ = {};
  return true;
}

}  // namespace mcp::http
