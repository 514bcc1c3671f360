#include "sandbox/box/runner_channel.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace sandbox::box {

using nlohmann::json;

namespace {
constexpr std::size_t kReadBytesAtOnce = 256 * 1024;
// No run needs many more frames than this; what goes on beyond it, or between runs, is read slowly,
// since no limit of the session counts the work that hutch-box has with it.
constexpr std::size_t kBytesAtOnceMax = 16U << 20;
constexpr std::chrono::milliseconds kPause{50};
// All channels of the box together may hold this much: hutch-box is in no limit of the session.
constexpr std::size_t kHeldBytesMax = 96U << 20;
std::size_t g_held_bytes = 0;  // one thread
// An output lies deeper in the replies of hutch-box than in the message of its runner, by no more
// than these levels.
constexpr base::JsonLimits kRunnerJson{.depth_max = base::JsonLimits{}.depth_max - 4};
}  // namespace

base::Result<std::unique_ptr<RunnerChannel>> RunnerChannel::open(EventLoop& loop, Events events,
                                                                 Ends& theirs) {
  base::Pipe to_runner = TRY(base::make_pipe());
  base::Pipe from_runner = TRY(base::make_pipe());
  TRY(base::set_nonblocking(to_runner.write_end.get()));
  TRY(base::set_nonblocking(from_runner.read_end.get()));
  theirs = {std::move(to_runner.read_end), std::move(from_runner.write_end)};
  std::unique_ptr<RunnerChannel> channel(new RunnerChannel(
      loop, std::move(events), {std::move(from_runner.read_end), std::move(to_runner.write_end)}));
  TRY(loop.watch(channel->ours_.reads.get(), EPOLLIN,
                 [raw = channel.get()](std::uint32_t) { raw->read_some(); }));
  return channel;
}

void RunnerChannel::close() {
  g_held_bytes -= std::exchange(held_bytes_, 0);
  loop_.cancel(pause_);
  stop_writing();
  unsent_.clear();
  if (ours_.reads.valid()) loop_.forget(ours_.reads.get());
  ours_ = {};
}

bool RunnerChannel::is_read() const {
  pollfd end{ours_.writes.get(), 0, 0};
  return is_open() && (::poll(&end, 1, 0) <= 0 || (end.revents & POLLERR) == 0);
}

void RunnerChannel::send(const json& message) {
  if (!is_open()) return;
  unsent_ += wire::encode_frame('J', base::print_json(message));
  write_some();
}

void RunnerChannel::write_some() {
  while (!unsent_.empty()) {
    const ssize_t written = ::write(ours_.writes.get(), unsent_.data(), unsent_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    unsent_.erase(0, static_cast<std::size_t>(written));
  }
  if (unsent_.empty()) return stop_writing();
  if (errno != EAGAIN) {  // EPIPE: it reads no more, so it can get no run either
    close();
    return events_.ended();
  }
  if (waits_to_write_) return;
  waits_to_write_ =
      loop_.watch(ours_.writes.get(), EPOLLOUT, [this](std::uint32_t) { write_some(); }).ok();
}

void RunnerChannel::stop_writing() {
  if (std::exchange(waits_to_write_, false)) loop_.forget(ours_.writes.get());
}

void RunnerChannel::read_some() {
  static char buffer[kReadBytesAtOnce];  // one thread
  const ssize_t got = ::read(ours_.reads.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    close();
    return events_.ended();
  }
  bytes_at_once_ += static_cast<std::size_t>(got);
  if (bytes_at_once_ > kBytesAtOnceMax && pause_ == 0) pause();
  decoder_.feed({buffer, static_cast<std::size_t>(got)});
  take_frames();
  if (is_open()) count_held();
}

// Counts the bytes that are not a whole message yet. Closes the channel when all channels together
// hold too many.
void RunnerChannel::count_held() {
  const std::size_t held = decoder_.held_bytes() + blob_.size();
  g_held_bytes += held - std::exchange(held_bytes_, held);
  if (g_held_bytes <= kHeldBytesMax) return;
  close();
  events_.broken("more of unfinished messages than a sandbox may hold");
}

void RunnerChannel::pause() {
  (void)loop_.change(ours_.reads.get(), 0);
  pause_ = loop_.after(kPause, [this] {
    pause_ = 0;
    (void)loop_.change(ours_.reads.get(), EPOLLIN);
  });
}

void RunnerChannel::expect_much() {
  blob_ = {};  // an earlier run may have left it, and said no more
  count_held();
  bytes_at_once_ = 0;
  if (pause_ == 0) return;
  loop_.cancel(pause_);
  (void)loop_.change(ours_.reads.get(), EPOLLIN);
}

void RunnerChannel::take_frames() {
  const auto refuse = [this](const std::string& why) {
    close();
    events_.broken(why);
  };
  while (is_open()) {
    auto frame = decoder_.next();
    if (!frame.ok()) return refuse(frame.error().message);
    if (!frame.value()) return;
    if (frame.value()->kind == 'B') {
      blob_ = std::move(frame.value()->payload);
      // Bytes that are only copied are far less work than those that are parsed.
      bytes_at_once_ -= std::min(bytes_at_once_, blob_.size() / 4 * 3);
      continue;
    }
    const auto message = base::parse_json(frame.value()->payload, kRunnerJson);
    if (!message.ok()) return refuse(message.error().message);
    events_.message(message.value(), std::exchange(blob_, {}));
  }
}

}  // namespace sandbox::box
