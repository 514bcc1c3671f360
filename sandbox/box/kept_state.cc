#include "sandbox/box/kept_state.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

namespace sandbox::box {

using base::Error;

namespace {

constexpr const char* kDirectory = "state";
constexpr const char* kSnapshot = "python";
constexpr const char* kUnfinished = "python.new";
constexpr const char* kSetAside = "python.bad";
// How many interpreters were given the snapshot and have not said that they have read it: that many
// bytes long.
constexpr const char* kTries = "python.tries";
constexpr int kTriesMost = 2;
constexpr std::size_t kPacketBytesMax = 128 << 10;
constexpr int kPacketsInARow = 16;  // then others have their turn
constexpr std::chrono::milliseconds kRestMin{100};
constexpr std::chrono::milliseconds kWorkMost{60'000};

// A number in decimal. Where nobody reads them they are dropped: who writes waits on its own then.
void say(int socket_fd, std::int64_t number) {
  const std::string text = std::to_string(number);
  (void)!::send(socket_fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

base::Result<std::unique_ptr<KeptState>> KeptState::open(EventLoop& loop, int directory_fd,
                                                         std::int64_t bytes_max) {
  if (::mkdirat(directory_fd, kDirectory, 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("mkdir of the session's state");
  }
  auto directory =
      TRY(base::open_file(directory_fd, kDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  std::unique_ptr<KeptState> kept(new KeptState(loop, std::move(directory), bytes_max));
  kept->side_ = TRY(SideThread::create(loop));
  kept->drop_file();
  return kept;
}

KeptState::~KeptState() { end_conversation(); }

// Takes what was written before the interpreter or the box ended and nobody has heard yet, which is
// no more than a socket holds.
void KeptState::end_conversation() {
  do {
    side_->finish();
  } while (take_packet());
  hang_up();
}

base::Result<KeptState::Ends> KeptState::give() {
  end_conversation();
  base::SocketPair pair = TRY(base::make_socket_pair(SOCK_SEQPACKET));
  TRY(base::set_nonblocking(pair.ours.get()));
  socket_ = std::move(pair.ours);
  listen(true);
  say(socket_.get(), bytes_max_);
  Ends ends;
  ends.socket = std::move(pair.theirs);
  if (!has_snapshot()) return ends;
  if (tries() >= kTriesMost) {
    set_aside_ = ::renameat(directory_.get(), kSnapshot, directory_.get(), kSetAside) == 0;
    set_tries(0);
    return ends;
  }
  set_tries(tries() + 1);
  ends.snapshot = TRY(base::open_file(directory_.get(), kSnapshot, O_RDONLY | O_NOFOLLOW));
  return ends;
}

bool KeptState::has_snapshot() const {
  struct stat found {};
  return ::fstatat(directory_.get(), kSnapshot, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

void KeptState::forget() {
  hang_up();
  side_->finish();
  (void)::unlinkat(directory_.get(), kSnapshot, 0);
  set_tries(0);
}

bool KeptState::take_set_aside() { return std::exchange(set_aside_, false); }

void KeptState::on_packets() {
  for (int i = 0; i < kPacketsInARow && is_heard_ && take_packet(); ++i) continue;
}

bool KeptState::take_packet() {
  std::array<char, kPacketBytesMax> packet;
  if (!socket_.valid()) return false;
  const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), MSG_TRUNC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  // The last of those who could write has ended, or a packet is none of a runner's.
  if (size <= 0 || static_cast<std::size_t>(size) > packet.size()) {
    hang_up();
    return false;
  }
  const std::string_view rest_of_it(packet.data() + 1, static_cast<std::size_t>(size) - 1);
  switch (packet.front()) {
    case 'W':
      set_tries(0);
      rest();
      break;
    case 'N':
      (void)::unlinkat(directory_.get(), kSnapshot, 0);
      rest();
      break;
    case 'B':
      begin_file();
      break;
    case 'D':
      add(rest_of_it);
      break;
    case 'E': {
      std::int64_t bytes = -1;
      (void)std::from_chars(rest_of_it.data(), rest_of_it.data() + rest_of_it.size(), bytes);
      commit(bytes);
      break;
    }
    default:
      hang_up();
  }
  return true;
}

// A writer that dies says nothing of its end, and the next one begins anew.
void KeptState::begin_file() {
  if (file_.valid()) {
    drop_file();
    return rest();
  }
  began_ = Clock::now();
  auto file = base::open_file(directory_.get(), kUnfinished,
                              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (file.ok()) file_ = std::move(file).value();
}

void KeptState::add(std::string_view bytes) {
  file_bytes_ += static_cast<std::int64_t>(bytes.size());
  if (file_.valid() && file_bytes_ <= bytes_max_ && base::write_all(file_.get(), bytes).ok()) {
    return;
  }
  drop_file();
  rest();
}

void KeptState::commit(std::int64_t bytes) {
  if (!file_.valid() || bytes != file_bytes_) {
    drop_file();
    return rest();
  }
  listen(false);
  const auto file = std::make_shared<base::UniqueFd>(std::move(file_));
  file_bytes_ = 0;
  side_->run([this, file](const std::stop_token&) -> std::function<void()> {
    const bool is_on_disk = ::fsync(file->get()) == 0;
    return [this, is_on_disk] {
      if (!is_on_disk ||
          ::renameat(directory_.get(), kUnfinished, directory_.get(), kSnapshot) != 0) {
        drop_file();
      }
      rest();
    };
  });
}

void KeptState::rest() {
  if (!socket_.valid()) return;
  std::chrono::milliseconds worked{0};
  if (began_) {
    worked = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - *began_);
    began_.reset();
  }
  const auto pause = std::max(kRestMin, kRestsPerWork * std::min(worked, kWorkMost));
  say(socket_.get(), pause.count());
  listen(false);
  loop_.cancel(rest_end_);
  rest_end_ = loop_.after(pause, [this] {
    rest_end_ = 0;
    listen(true);
  });
}

// While nothing is heard, not even of its end.
void KeptState::listen(bool listens) {
  if (!socket_.valid() || is_heard_ == listens) return;
  is_heard_ = listens;
  if (!listens) return loop_.forget(socket_.get());
  const auto watched = loop_.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) { on_packets(); });
  if (!watched.ok()) hang_up();
}

void KeptState::drop_file() {
  file_.reset();
  file_bytes_ = 0;
  (void)::unlinkat(directory_.get(), kUnfinished, 0);
}

void KeptState::hang_up() {
  began_.reset();
  is_heard_ = false;
  loop_.cancel(rest_end_);
  if (socket_.valid()) loop_.forget(socket_.get());
  socket_.reset();
  file_.reset();
  file_bytes_ = 0;
}

int KeptState::tries() const {
  struct stat found {};
  if (::fstatat(directory_.get(), kTries, &found, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return static_cast<int>(found.st_size);
}

void KeptState::set_tries(int tries) const {
  (void)::unlinkat(directory_.get(), kTries, 0);
  if (tries == 0) return;
  const auto file =
      base::open_file(directory_.get(), kTries, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (file.ok())
    (void)base::write_all(file.value().get(), std::string(static_cast<std::size_t>(tries), '.'));
}

}  // namespace sandbox::box
