#include "sandbox/box/stream_reader.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sandbox::box {
namespace {
constexpr std::size_t kReadBytes = 256 * 1024;
// A writer that never stops must not keep drain() for ever: what is in the pipe is bounded, what
// comes meanwhile is not.
constexpr int kDrainRounds = 64;
}  // namespace

base::Result<std::shared_ptr<StreamReader>> StreamReader::start(EventLoop& loop,
                                                                base::UniqueFd pipe, Runs runs) {
  TRY(base::set_nonblocking(pipe.get()));
  // Larger pipes mean fewer switches under heavy output; the kernel may say no, and then 64 KiB do.
  (void)::fcntl(pipe.get(), F_SETPIPE_SZ, 1 << 18);
  return std::shared_ptr<StreamReader>(new StreamReader(loop, std::move(pipe), runs));
}

void StreamReader::watch() {
  watched_ = true;
  const auto watching = loop_.watch(
      pipe_.get(), EPOLLIN, [reader = shared_from_this()](std::uint32_t) { reader->read_some(); });
  if (!watching.ok()) close();
}

void StreamReader::set_target(std::shared_ptr<StreamFile> file, std::function<void()> on_output) {
  file_ = std::move(file);
  on_output_ = std::move(on_output);
  if (!watched_ && pipe_.valid()) watch();
}

bool StreamReader::read_some() {
  static char buffer[kReadBytes];  // one thread
  if (!pipe_.valid()) return false;
  const ssize_t got = ::read(pipe_.get(), buffer, sizeof buffer);
  if (got > 0) {
    if (file_) file_->append({buffer, static_cast<std::size_t>(got)});
    if (on_output_) {
      on_output_();
    } else if (!file_ || file_->over_limit()) {
      // Nobody listens and nothing is kept. The writer gets SIGPIPE instead of our attention; where
      // later runs write into the same pipe, it waits for the next of them.
      if (runs_ == Runs::kMany) {
        stop_watching();
      } else {
        close();
      }
      return false;
    }
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  close();
  return false;
}

void StreamReader::drain() {
  for (int round = 0; round < kDrainRounds && read_some(); ++round) {
  }
}

void StreamReader::stop_watching() {
  if (std::exchange(watched_, false)) loop_.forget(pipe_.get());
}

void StreamReader::close() {
  const auto keep_alive = shared_from_this();  // the loop's handler may hold the last reference
  stop_watching();
  pipe_.reset();
  file_.reset();
}

}  // namespace sandbox::box
