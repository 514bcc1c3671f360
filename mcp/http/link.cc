#include "mcp/http/link.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "mcp/http/peer_network.h"
#include "mcp/http/request_id.h"
#include "mcp/http/status.h"
#include "mcp/message.h"
#include "mcp/worker_pool.h"

namespace mcp::http {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::size_t kCompactBytes = 64U << 10;  // written bytes that are still kept
// Before a connection closes, its client may go on sending so much, for so long, until it has read
// the last answer: most send a body whole before they read why it was refused.
constexpr std::size_t kLingerBytes = 1U << 30;
constexpr std::chrono::seconds kLingerPatience{5};
constexpr std::size_t kFileTurnBytes = 1U << 20;
constexpr std::size_t kDiscardedAtOnce = 1U << 20;  // others wait for this thread
constexpr auto kNever = Link::Clock::time_point::max();

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

bool wants_room(int status) { return status == kUnavailable || status == kTooMany; }

// Who asks is told what to do, unless it is a HEAD, whose answer has no body.
std::string plain_response(int status, const std::string& request_id, bool takes_body) {
  const std::string seconds = std::to_string(kRetryAfterSeconds);
  const std::string body =
      wants_room(status) && takes_body
          ? "too many requests wait here: try again in " + seconds + " second\n"
          : "";
  std::string response = "HTTP/1.1 " + std::to_string(status) + " Refused\r\n";
  if (wants_room(status)) response += "Retry-After: " + seconds + "\r\n";
  if (!body.empty()) response += "Content-Type: text/plain; charset=utf-8\r\n";
  response += "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n";
  return response + kRequestIdHeader + ": " + request_id + "\r\n\r\n" + body;
}

}  // namespace

Link::Link(LinkHost& host, int fd, std::uint64_t id, std::string peer)
    : host_(host),
      fd_(fd),
      id_(id),
      peer_(std::move(peer)),
      asker_of_unknown_(WorkerPool::kUnknown + network_of(peer_)),
      deadline_(Clock::now() + host.bounds().idle_patience) {}

// The host may be gone: by then everything has ended.
Link::~Link() { ::close(fd_); }

void Link::on_event(std::uint32_t events) {
  Lock lock(mutex_);
  const bool broken = (events & (EPOLLHUP | EPOLLERR)) != 0;
  switch (state_) {
    case State::kHead:
      return broken ? end(lock) : read_head(lock);
    case State::kFlushing:
      if (broken || given_up_) return end(lock);
      // An event of before, while the answer was waited for, finds others at work.
      if (!std::exchange(write_armed_, false)) return;
      // A file, which follows what is left of its head, may be slow to read, and others wait for
      // this thread.
      if (file_.file) {
        const std::string who = asker();
        lock.unlock();  // it is done here where no other thread is free
        return host_.run(who, [self = shared_from_this()] { self->flush_file(); });
      }
      return flush(lock);
    case State::kStreaming:
      // Its half of the connection may be closed by a client only when it is done with it.
      if (broken || given_up_ || (events & EPOLLRDHUP) != 0) return end(lock);
      write_armed_ = false;
      return flush(lock);
    case State::kLingering:
      return discard(lock);
    case State::kServed:
      if (gone_ && (broken || (events & EPOLLRDHUP) != 0)) end(lock);
      return;
    case State::kEnded:
      return;
  }
}

void Link::on_time(Clock::time_point now) {
  Lock lock(mutex_);
  // Others want room, and this reader's owner has more output waiting than its part.
  if (out_.size() > host_.bounds().small_output && host_.wants_output_back(owner_)) {
    return end(lock);
  }
  if (now < deadline_) return;
  if (state_ == State::kHead && !in_.empty()) return refuse(kRequestTimeout, lock);
  if (state_ != State::kServed) end(lock);
}

bool Link::is_asked() {
  const std::lock_guard lock(mutex_);
  return state_ == State::kServed || (state_ == State::kHead && has_input());
}

std::string Link::asker() const {
  const bool is_unknown = owner_.empty() || host_.bounds().are_connections_shared;
  return is_unknown ? asker_of_unknown_ : owner_;
}

bool Link::has_input() const {
  char next = 0;
  return ::recv(fd_, &next, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

bool Link::end_if_idle() {
  Lock lock(mutex_);
  if (state_ == State::kEnded) return true;
  if (state_ != State::kHead || !in_.empty()) return false;
  if (has_input()) return false;
  end(lock);
  return true;
}

bool Link::end_if_half_asked() {
  Lock lock(mutex_);
  if (state_ == State::kEnded) return true;
  if (state_ != State::kHead || has_input()) return false;
  end(lock);
  return true;
}

std::string Link::owner() const {
  const std::lock_guard lock(mutex_);
  return owner_;
}

void Link::belongs_to(const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  if (out_.empty()) owner_ = principal_id;
}

void Link::end() {
  Lock lock(mutex_);
  end(lock);
}

void Link::read_head(Lock& lock) {
  std::array<char, kReadBytes> buffer;
  while (true) {
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !would_block() && errno != EINTR)) return end(lock);
    if (got < 0) break;
    if (in_.empty()) deadline_ = Clock::now() + host_.bounds().head_patience;
    in_.append(buffer.data(), static_cast<std::size_t>(got));
    // The rest stays in the socket until somebody asks for the body.
    if (static_cast<std::size_t>(got) < buffer.size() || in_.size() > host_.bounds().head_bytes) {
      break;
    }
  }
  next_request(lock);
}

void Link::next_request(Lock& lock) {
  // An empty line before the request: RFC 9112 section 2.2.
  if (in_.starts_with("\r\n")) in_.erase(0, 2);
  const std::size_t from = searched_ - std::min(searched_, kHeadEnd.size());
  const std::size_t end_of_head = in_.find(kHeadEnd, from);
  if (end_of_head == std::string::npos) {
    if (in_.size() > host_.bounds().head_bytes) return refuse(kHeadTooLarge, lock);
    searched_ = in_.size();
    state_ = State::kHead;
    return host_.arm(*this, EPOLLIN);
  }
  if (end_of_head > host_.bounds().head_bytes) return refuse(kHeadTooLarge, lock);
  searched_ = end_of_head;
  state_ = State::kServed;
  deadline_ = kNever;
  const std::string who = asker();
  if (host_.serve(shared_from_this(), who)) return;
  refuse(who.starts_with(WorkerPool::kUnknown) ? kUnavailable : kTooMany, lock);
}

std::string Link::take_head() {
  const std::lock_guard lock(mutex_);
  std::string head = in_.substr(0, searched_ + kHeadEnd.size());
  in_.erase(0, head.size());
  searched_ = 0;
  return head;
}

std::size_t Link::take_body(char* bytes, std::size_t size) {
  const std::lock_guard lock(mutex_);
  const std::size_t taken = in_.copy(bytes, size);
  in_.erase(0, taken);
  return taken;
}

void Link::refuse(int status, const std::string& request_id) {
  Lock lock(mutex_);
  refuse(status, request_id, lock);
}

// There is no request yet, so nobody else tells of it.
void Link::refuse(int status, Lock& lock) {
  const std::string request_id = make_request_id();
  host_.refused(*this, status, request_id);
  refuse(status, request_id, lock);
}

void Link::refuse(int status, const std::string& request_id, Lock& lock) {
  if (state_ == State::kEnded) return;
  state_ = State::kFlushing;
  close_after_flush_ = true;
  const bool takes_body = !in_.starts_with("HEAD ");
  if (!queue(plain_response(status, request_id, takes_body))) return give_up();
  flush(lock);
}

void Link::give_away(const std::string& head, const std::function<void(Taken)>& take_over) {
  Lock lock(mutex_);
  // Another descriptor of it: this one is closed with the link.
  Taken taken{base::UniqueFd(::fcntl(fd_, F_DUPFD_CLOEXEC, 3)), head, std::move(in_)};
  if (state_ == State::kEnded) return;
  if (taken.fd.get() < 0) return end(lock);
  const std::shared_ptr<Link> self = shared_from_this();
  state_ = State::kEnded;
  deadline_ = Clock::time_point::max();
  in_ = std::string();
  lock.unlock();
  host_.forget(*this);
  take_over(std::move(taken));
}

void Link::wait_for_answer(std::function<void()> gone) {
  Lock lock(mutex_);
  if (state_ == State::kEnded) {
    lock.unlock();
    return gone();
  }
  gone_ = std::move(gone);
  host_.arm(*this, EPOLLRDHUP);
}

void Link::finish(Answer answer) {
  const bool stream = answer.start_stream != nullptr;
  {
    Lock lock(mutex_);
    if (state_ != State::kEnded) {
      gone_ = nullptr;
      state_ = stream ? State::kStreaming : State::kFlushing;
      close_after_flush_ = !stream && (!answer.keep_alive || host_.draining());
      file_ = std::move(answer.file);
      if (!queue(std::move(answer.bytes))) {
        give_up();
      } else {
        flush(lock);
      }
    }
  }
  // Also when the client is gone: the stream says so to whoever asks it.
  if (!stream) return;
  try {
    answer.start_stream(shared_from_this());
  } catch (const std::exception&) {
    const Lock lock(mutex_);
    if (state_ != State::kEnded) give_up();
  }
}

bool Link::queue(std::string bytes) {
  if (!host_.reserve_output(owner_, bytes.size())) return false;
  if (out_.empty()) {
    out_ = std::move(bytes);
    progress_ = 0;
    deadline_ = Clock::now() + host_.bounds().write_patience;
  } else {
    out_ += bytes;
  }
  return true;
}

void Link::flush(Lock& lock) {
  while (written_ < out_.size()) {
    const ssize_t sent =
        ::send(fd_, out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && !would_block()) return give_up();
    if (sent < 0) {
      if (written_ >= std::max(kCompactBytes, out_.size() / 2)) {
        host_.release_output(owner_, written_);
        out_.erase(0, written_);
        written_ = 0;
      }
      return wait_for_room();
    }
    written_ += static_cast<std::size_t>(sent);
    take_more(static_cast<std::size_t>(sent));
    less_waits_.notify_all();
  }
  host_.release_output(owner_, out_.size());
  out_ = std::string();
  written_ = 0;
  ++times_emptied_;
  if (send_file(lock)) flushed(lock);
}

void Link::flush_file() {
  Lock lock(mutex_);
  if (state_ == State::kFlushing && !given_up_) flush(lock);
}

// The kernel sends it, and no memory holds it. sendfile(2).
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

void Link::take_more(std::size_t bytes) {
  progress_ += bytes;
  if (progress_ < host_.bounds().write_progress) return;
  progress_ = 0;
  deadline_ = Clock::now() + host_.bounds().write_patience;
}

void Link::wait_for_room() {
  write_armed_ = true;
  // The end of what a client sends stays an event, and would be one for ever.
  host_.arm(*this, state_ == State::kStreaming ? EPOLLOUT | EPOLLRDHUP : EPOLLOUT);
}

void Link::flushed(Lock& lock) {
  if (close_after_flush_) {
    linger();
  } else if (state_ == State::kStreaming) {
    deadline_ = kNever;
    host_.arm(*this, EPOLLRDHUP);
  } else {
    deadline_ =
        Clock::now() + (in_.empty() ? host_.bounds().idle_patience : host_.bounds().head_patience);
    next_request(lock);
  }
}

// Closing with unread input makes the kernel reset the connection, and the response may be lost.
void Link::linger() {
  (void)::shutdown(fd_, SHUT_WR);
  state_ = State::kLingering;
  deadline_ = Clock::now() + kLingerPatience;
  host_.arm(*this, EPOLLIN);
}

void Link::discard(Lock& lock) {
  std::array<char, kCompactBytes> buffer;
  const std::size_t before = lingered_;
  while (lingered_ < kLingerBytes) {
    if (lingered_ - before >= kDiscardedAtOnce) return host_.arm(*this, EPOLLIN);
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && would_block()) return host_.arm(*this, EPOLLIN);
    if (got <= 0) break;
    lingered_ += static_cast<std::size_t>(got);
  }
  end(lock);
}

// The polling thread sees the broken connection and ends the link.
void Link::give_up() {
  given_up_ = true;
  less_waits_.notify_all();
  (void)::shutdown(fd_, SHUT_RDWR);
  host_.arm(*this, EPOLLIN);
}

// The lock is free afterwards.
void Link::end(Lock& lock) {
  if (state_ == State::kEnded) return;
  const std::shared_ptr<Link> self = shared_from_this();
  state_ = State::kEnded;
  less_waits_.notify_all();
  deadline_ = kNever;
  host_.release_output(owner_, out_.size());
  out_ = std::string();
  written_ = 0;
  file_ = {};
  in_ = std::string();
  (void)::shutdown(fd_, SHUT_RDWR);
  auto gone = std::exchange(gone_, nullptr);
  const std::string who = asker();
  lock.unlock();
  host_.forget(*this);
  if (gone) host_.run(who, std::move(gone));
}

bool Link::send(std::string bytes) {
  Lock lock(mutex_);
  return send(std::move(bytes), lock);
}

bool Link::send_patiently(std::string bytes) {
  if (!has_room()) {
    const WorkerPool::Aside aside;  // whoever waits for its client keeps no other call waiting
    Lock lock(mutex_);
    wait_for_room(lock);
  }
  Lock lock(mutex_);
  wait_for_room(lock);
  return send(std::move(bytes), lock);
}

void Link::wait_for_room(Lock& lock) {
  const auto is_its_turn = [this] {
    return state_ != State::kStreaming || given_up_ || has_room_now();
  };
  std::uint64_t before = 0;
  do {
    before = times_emptied_;
  } while (!less_waits_.wait_for(lock, host_.bounds().write_patience, is_its_turn) &&
           times_emptied_ != before);
}

bool Link::send(std::string bytes, Lock& lock) {
  if (state_ != State::kStreaming || close_after_flush_ || given_up_) return false;
  // An event of any size may pass the bound; behind it there is as much room as before it.
  const bool passes = out_.size() - written_ <= host_.bounds().stream_bytes;
  behind_ = passes ? 0 : behind_ + bytes.size();
  if (behind_ > host_.bounds().stream_bytes || !queue(std::move(bytes))) {
    give_up();
  } else if (!write_armed_) {
    flush(lock);
  }
  return !given_up_;
}

bool Link::has_room() const {
  const std::lock_guard lock(mutex_);
  return has_room_now();
}

bool Link::has_room_now() const {
  return state_ == State::kStreaming && out_.size() - written_ <= host_.bounds().stream_bytes / 8;
}

void Link::close() {
  Lock lock(mutex_);
  if (state_ != State::kStreaming || given_up_) return;
  close_after_flush_ = true;
  gone_ = nullptr;
  if (!write_armed_) flush(lock);
}

void Link::break_off() {
  Lock lock(mutex_);
  if (state_ != State::kStreaming) return;
  gone_ = nullptr;
  // The end of a stream is the end of its connection. This resets that, where an end would be read
  // as the end of a whole answer (tcp(7), connect(2)); of a Unix socket there is no such way.
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  (void)::connect(fd_, &nobody, sizeof nobody);
  end(lock);
}

void Link::on_gone(std::function<void()> callback) {
  std::string who;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::kEnded) {
      if (!close_after_flush_) gone_ = std::move(callback);
      return;
    }
    who = asker();
  }
  host_.run(who, std::move(callback));
}

}  // namespace mcp::http
