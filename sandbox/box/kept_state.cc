#include "sandbox/box/kept_state.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <utility>

#include "sandbox/box/disk_room.h"

namespace sandbox::box {

using base::Error;

namespace {

// An interpreter that ends while it reads counts as much as three boxes that have ended meanwhile
// without a word, as in power cuts: what it reads most likely is at fault, and they most likely
// not.
constexpr int kTryOfABox = 1;
constexpr int kTryOfAnInterpreter = 3;
constexpr int kTriesMost = 2 * kTryOfAnInterpreter;
// A packet is a letter, the length of what follows (16 bits, little-endian) and that. It is written
// whole or not at all, as no more than PIPE_BUF is, whoever else writes or ends meanwhile.
constexpr std::size_t kHeadBytes = 3;
constexpr std::size_t kPacketBytesMax = PIPE_BUF;
constexpr std::size_t kNumbersMax = 64;
constexpr std::size_t kBytesInARow = 512 << 10;  // then others have their turn
constexpr int kPipeBytes = 1 << 20;              // as far as the host lets a user have it
constexpr std::int64_t kLeftEndsMost = 8;  // as many as an honest writer leaves, and some more
constexpr std::chrono::milliseconds kRestMin{100};
// A wish is given up when nothing comes for so long, or when it takes so long in all: who writes
// may be hostile, and a slow disk is not.
constexpr std::chrono::seconds kSilenceMost{60};
constexpr std::chrono::minutes kWishMost{10};
constexpr std::int64_t kRoomLookBytes = 16 << 20;
// So much a session may store beside what it has stored when the share is used up: a mebibyte, and
// what runners leave for an index.
constexpr std::int64_t kBytesWithoutShare = 3 << 20;
// A snapshot may have so much more than the one before, and a part of that, whatever else it may
// have: nothing that was stored is lost because the session is to store less from now on. That is
// so each time, and not where the share is used up.
constexpr std::int64_t kGrowthBytes = 4 << 20;
constexpr std::int64_t kGrowthPart = 8;
constexpr std::int64_t kHeardBytes = 256 << 10;  // after which a wish waits anew
constexpr int kFloors = 2;                       // snapshots leave so many times the floor free
constexpr std::chrono::milliseconds kWorkMost{60'000};
// Each language has such a wait, and a server that hears nothing for 30 s ends the box.
constexpr std::chrono::seconds kPutPatience{3};

// Sends an answer: when the next snapshot may come, what is known of large values, and how many
// bytes one may have that nobody asks for. Where nobody reads it, it is dropped: who writes waits
// on its own then.
void say(int pipe_fd, std::int64_t next_ms, std::int64_t of_large, std::int64_t bytes_max) {
  const std::string text = std::to_string(next_ms) + "/" + std::to_string(of_large) + "/" +
                           std::to_string(bytes_max) + " ";
  (void)!::write(pipe_fd, text.data(), text.size());
}

// The first numbers of a packet; what is missing is 0.
std::array<std::int64_t, 4> numbers_in(std::string_view text) {
  std::array<std::int64_t, 4> numbers{};
  for (std::int64_t& number : numbers) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return numbers;
}

}  // namespace

base::Result<std::unique_ptr<KeptState>> KeptState::open(EventLoop& loop, StateDirectory& directory,
                                                         const std::string& name, const Most& most,
                                                         SnapshotFiles::Check check) {
  auto side = TRY(SideThread::create(loop));  // before it: its end has work for the thread
  std::unique_ptr<KeptState> kept(new KeptState(loop, directory, name, most, check));
  kept->side_ = std::move(side);
  return kept;
}

// Who has started this box has told already that it may store little.
KeptState::KeptState(EventLoop& loop, StateDirectory& directory, const std::string& name,
                     const Most& most, SnapshotFiles::Check check)
    : loop_(loop),
      files_(directory, name, check),
      most_(most),
      bytes_before_(files_.bytes_there()) {
  look_at_share();
  if (no_share_ == NoRoom::kYes) no_share_ = NoRoom::kTold;
}

std::vector<int> KeptState::Ends::all() const {
  std::vector<int> fds;
  for (const base::UniqueFd* end : {&takes, &answers, &stored.snapshot}) {
    if (end->valid()) fds.push_back(end->get());
  }
  for (const base::UniqueFd& large : stored.large) fds.push_back(large.get());
  return fds;
}

KeptState::~KeptState() {
  wisher_ = nullptr;
  end_conversation();
}

// Takes what was written before the interpreter or the box ended and nobody has heard yet: no more
// than the pipe holds now, whoever goes on writing, and no more than one snapshot.
void KeptState::end_conversation() {
  const auto latest = Clock::now() + kPutPatience;
  end_put(latest);
  int left = 0;
  if (pipe_.valid()) (void)::ioctl(pipe_.get(), FIONREAD, &left);
  const std::int64_t ends = ends_;
  for (const std::int64_t before = commits_; commits_ == before && ends_ - ends < kLeftEndsMost;) {
    if (take_packet()) continue;
    const std::size_t had = unread_.size() - taken_;
    if (left <= 0 || !read_some(static_cast<std::size_t>(left))) break;
    left -= static_cast<int>(unread_.size() - had);
  }
  end_put(latest);
  hang_up();
}

// The loop stands still meanwhile, and whoever asks the box for anything has so much patience.
void KeptState::end_put(Clock::time_point latest) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(latest - Clock::now());
  if (!side_->finish_within(left)) put_.request_stop();
  side_->finish();
}

void KeptState::reader_has_ended() {
  if (!std::exchange(is_being_read_, false)) return;
  files_.set_tries(files_.tries() + kTryOfAnInterpreter - kTryOfABox);
}

base::Result<KeptState::Ends> KeptState::give() {
  reader_has_ended();
  end_conversation();
  told_large_ = 0;
  bytes_before_ = std::max(bytes_before_, files_.bytes_there());
  base::Pipe takes = TRY(base::make_pipe());
  base::Pipe answers = TRY(base::make_pipe());
  (void)::fcntl(takes.read_end.get(), F_SETPIPE_SZ, kPipeBytes);
  TRY(base::set_nonblocking(takes.read_end.get()));
  TRY(base::set_nonblocking(answers.write_end.get()));
  pipe_ = std::move(takes.read_end);
  answers_ = std::move(answers.write_end);
  listen(true);
  Ends ends;
  ends.takes = std::move(takes.write_end);
  ends.answers = std::move(answers.read_end);
  if (has_snapshot() && files_.tries() >= kTriesMost) {
    files_.set_aside();
    set_aside_ = !has_snapshot();
  } else if (has_snapshot()) {
    files_.set_tries(files_.tries() + kTryOfABox);
    is_being_read_ = true;
    ends.stored = TRY(files_.open());
  }
  say(answers_.get(), 0, static_cast<std::int64_t>(ends.stored.large.size()), unasked_most());
  return ends;
}

bool KeptState::has_snapshot() const { return files_.is_there(); }

void KeptState::forget() {
  put_.request_stop();
  side_->finish();
  hang_up();
  files_.forget();
}

void KeptState::was_not_given() {
  files_.set_tries(files_.tries() - kTryOfABox);
  is_being_read_ = false;
}

bool KeptState::take_writer() {
  if (!began_ || side_->busy()) return false;
  drop_snapshot(Outcome::kNotWritten);
  return true;
}

// An interpreter that was killed itself has hung up.
bool KeptState::take_reader() {
  if (!began_ || snapshot_wish_ == 0 || side_->busy() || !pipe_.valid()) return false;
  pollfd writers{.fd = pipe_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&writers, 1, 0) < 0 || (writers.revents & POLLHUP) != 0) return false;
  return !std::exchange(lost_reader_, true);
}

bool KeptState::take_no_room() {
  if (no_room_ != NoRoom::kYes) return false;
  no_room_ = NoRoom::kTold;
  return true;
}

bool KeptState::take_no_share() {
  if (no_share_ != NoRoom::kYes) return false;
  no_share_ = NoRoom::kTold;
  return true;
}

// Other sessions of the principal may have stored something since the last look.
void KeptState::look_at_share() {
  files_.directory().look();
  if (::faccessat(files_.directory().fd(), kShareUsedUp, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
    no_share_ = NoRoom::kNo;
  } else if (has_share()) {
    no_share_ = NoRoom::kYes;
    bytes_at_end_of_share_ = stored_bytes();
  }
}

std::int64_t KeptState::stored_bytes() const {
  return files_.bytes_there() + files_.bytes_needed();
}

// Who reads says so as often as it likes: only the first one of a box can tell of more.
void KeptState::has_been_read(std::int64_t large, std::int64_t place) {
  files_.needs(large, place);
  if (!std::exchange(has_read_large_, true)) bytes_at_end_of_share_ = stored_bytes();
}

bool KeptState::take_set_aside() { return std::exchange(set_aside_, false); }

void KeptState::on_packets() {
  for (std::size_t read = 0; is_heard_;) {
    if (take_packet()) continue;
    if (read >= kBytesInARow || !read_some(kBytesInARow)) return;
    read += unread_.size();
  }
}

// The begin of a packet that is not whole yet stays.
bool KeptState::read_some(std::size_t bytes_max) {
  constexpr std::size_t kAtOnce = 64 << 10;
  std::array<char, kAtOnce> bytes;
  if (!pipe_.valid()) return false;
  unread_.erase(0, std::exchange(taken_, 0));
  const ssize_t size = ::read(pipe_.get(), bytes.data(), std::min(bytes_max, bytes.size()));
  if (size > 0) unread_.append(bytes.data(), static_cast<std::size_t>(size));
  const bool is_over = size == 0;  // the last of those who could write has ended
  if (is_over) reader_has_ended();
  if (is_over || (size < 0 && errno != EAGAIN && errno != EINTR)) hang_up();
  return size > 0;
}

bool KeptState::take_packet() {
  const std::string_view unread = std::string_view(unread_).substr(taken_);
  if (unread.size() < kHeadBytes) return false;
  const auto byte_at = [unread](std::size_t place) {
    return static_cast<std::size_t>(static_cast<unsigned char>(unread[place]));
  };
  const std::size_t size = kHeadBytes + byte_at(1) + (byte_at(2) << 8);
  if (size > kPacketBytesMax) {  // no runner's
    hang_up();
    return false;
  }
  if (unread.size() < size) return false;
  const std::string packet(unread.substr(0, size));  // a copy: handling it may empty unread_
  taken_ += size;
  handle(packet.front(), std::string_view(packet).substr(kHeadBytes));
  return true;
}

void KeptState::handle(char letter, std::string_view content) {
  const auto numbers = numbers_in(content.substr(0, kNumbersMax));
  switch (letter) {
    case 'W':
      files_.set_tries(0);
      has_been_read(numbers[0], numbers[1]);
      is_being_read_ = false;
      return rest();
    case 'M':
      if (std::exchange(is_being_read_, false)) files_.set_aside();
      return rest();
    case 'K':
      if (is_being_read_) was_not_given();
      return rest();
    case 'N':
      files_.remove();
      return end_snapshot(Outcome::kWhole);
    case 'X':
      snapshot_wish_ = numbers[0];
      return drop_snapshot(numbers[1] != 0 ? Outcome::kModulesAlone : Outcome::kNotWritten);
    case 'B':
      return begin_file(numbers[0]);
    case 'L':
      return begin_large(numbers[0]);
    case 'D':
      return add(content, false);
    case 'A':
      return add(content, true);
    case 'E':
      return commit({numbers[0], numbers[1], numbers[2], numbers[3]});
    default:
      hang_up();
  }
}

KeptState::Wish KeptState::await(std::int64_t bytes_max, Heard then) {
  look_at_share();
  const std::int64_t with_share = std::max(bytes_max, as_before_most());
  wish_bytes_max_ = has_share() ? with_share : without_share(bytes_max);
  wish_lacks_share_ = wish_bytes_max_ < with_share;
  wisher_ = std::move(then);
  wish_began_ = Clock::now();
  wait_on();
  // Somebody has removed them since the last snapshot, which is over: this one has them again.
  const bool lacks_large = told_large_ != 0 && files_.needed() == 0;
  if (lacks_large && !began_ && !side_->busy()) tell(std::chrono::milliseconds(0));
  if (!pipe_.valid()) {
    answer(Outcome::kNotWritten);  // nobody is there to write
  } else if (!side_->busy()) {
    listen_in(std::chrono::milliseconds(0));
  }
  return {.number = ++last_wish_, .bytes_max = wish_bytes_max_};
}

// For the next of what is wished for.
void KeptState::wait_on() {
  loop_.cancel(wish_end_);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(wish_began_ + kWishMost - Clock::now());
  wish_end_ = loop_.after(
      std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kSilenceMost),
      [this] {
        wish_end_ = 0;
        answer(Outcome::kNotWritten);
      });
}

// Not at once: whoever wished may be asking something else at this moment.
void KeptState::answer(Outcome outcome) {
  loop_.cancel(wish_end_);
  if (!wisher_) return;
  loop_.after(std::chrono::milliseconds(0),
              [then = std::exchange(wisher_, nullptr), outcome] { then(outcome); });
}

bool KeptState::find_room() {
  struct statvfs system {};
  if (::fstatvfs(files_.directory().session_fd(), &system) != 0) return true;
  const auto bytes_of = [&system](fsblkcnt_t blocks) {
    return static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(system.f_frsize);
  };
  const bool has_room =
      bytes_of(system.f_bavail) >= kFloors * floor_bytes(bytes_of(system.f_blocks));
  if (!has_room && no_room_ == NoRoom::kNo) no_room_ = NoRoom::kYes;
  return has_room;
}

// A writer that dies says nothing of its end, and the next one begins anew: once in a row, or who
// only ever begins would have no rest. What is wished for has its time, and no rest before that.
void KeptState::begin_file(std::int64_t wish) {
  snapshot_wish_ = wish;
  const bool was_cut = began_ && std::exchange(was_cut_, true);
  if (was_cut && !(wisher_ && wish == last_wish_)) return drop_snapshot(Outcome::kNotWritten);
  if (!began_) began_ = Clock::now();
  lost_reader_ = false;
  look_at_share();
  files_.drop();
  if (find_room()) (void)files_.begin();
}

void KeptState::begin_large(std::int64_t number) {
  if (!files_.begin_large(number).ok()) drop_snapshot(not_written());
}

KeptState::Outcome KeptState::not_written() {
  return find_room() ? Outcome::kNotWritten : Outcome::kNoRoom;
}

std::int64_t KeptState::as_before_most() const {
  const std::int64_t grown = bytes_before_ + bytes_before_ / kGrowthPart + kGrowthBytes;
  return bytes_before_ == 0 ? 0 : std::min(grown, most_.bytes_in_all);
}

std::int64_t KeptState::without_share(std::int64_t bytes) const {
  const std::int64_t there = bytes_at_end_of_share_;
  const std::int64_t as_there = there == 0 ? 0 : there + kBytesWithoutShare;
  return std::max(std::min(bytes, kBytesWithoutShare), std::min(as_there, most_.bytes_in_all));
}

// Large values that stay are none of what is written, and some of what is stored.
std::int64_t KeptState::unasked_most() const {
  const std::int64_t most = std::max(most_.unasked_bytes, as_before_most());
  if (has_share()) return most;
  const std::int64_t left = without_share(most_.unasked_bytes) - files_.bytes_needed();
  return std::clamp<std::int64_t>(left, 0, most);
}

std::int64_t KeptState::bytes_most() const {
  return std::max(unasked_most(), is_wished() ? wish_bytes_max_ : 0);
}

std::int64_t KeptState::in_all_most() const {
  const std::int64_t most = has_share() ? most_.bytes_in_all : without_share(most_.unasked_bytes);
  return std::max(most, bytes_most());
}

KeptState::Outcome KeptState::too_large() const {
  const bool lacks_share = is_wished() ? wish_lacks_share_ : !has_share();
  return lacks_share ? Outcome::kNoShare : Outcome::kTooLarge;
}

void KeptState::add(std::string_view bytes, bool is_large) {
  const std::int64_t before = files_.bytes();
  const auto added = is_large ? files_.add_large(bytes) : files_.add(bytes);
  const std::int64_t now = files_.bytes();
  if (now > bytes_most()) return drop_snapshot(too_large());
  const bool has_room = before / kRoomLookBytes == now / kRoomLookBytes || find_room();
  if (!added.ok() || !has_room) return drop_snapshot(not_written());
  if (before / kHeardBytes != now / kHeardBytes && is_wished()) wait_on();
}

void KeptState::commit(const Whole& said) {
  const std::int64_t came = files_.bytes();
  const bool stays = said.large != 0 && said.large == files_.needed();
  const std::int64_t in_all = came + (stays ? files_.bytes_needed() : 0);
  if (said.bytes != came) return drop_snapshot(Outcome::kNotWritten);
  if (in_all > in_all_most()) return drop_snapshot(too_large());
  auto put = files_.finish(said.large);
  if (!put.ok()) return drop_snapshot(not_written());
  const Outcome outcome = said.missing == 0    ? Outcome::kWhole
                          : said.too_large > 0 ? too_large()
                                               : Outcome::kUnstorable;
  // Nothing is heard until it is there, or is not: whoever begins drops what is not finished.
  listen(false);
  loop_.cancel(rest_end_);
  if (is_wished()) loop_.cancel(wish_end_);  // the rest is the disk's
  ++commits_;
  put_ = std::stop_source();
  side_->run([this, put = std::move(put).value(), stop = put_.get_token(), outcome,
              is_asked = is_wished()](const std::stop_token&) -> std::function<void()> {
    const bool is_there = put(stop);
    return [this, is_there, outcome, is_asked] {
      files_.finished(is_there);
      if (is_there && is_asked) bytes_before_ = files_.bytes_there();
      if (is_there) {
        bytes_at_end_of_share_ = std::min(bytes_at_end_of_share_, stored_bytes());
      }
      if (is_there) files_.set_tries(0);
      if (is_there) no_room_ = NoRoom::kNo;
      end_snapshot(is_there ? outcome : not_written());
    };
  });
}

void KeptState::drop_snapshot(Outcome outcome) {
  files_.drop();
  end_snapshot(outcome);
}

void KeptState::end_snapshot(Outcome outcome) {
  was_cut_ = false;
  if (std::exchange(snapshot_wish_, 0) == last_wish_) answer(outcome);
  rest();
}

void KeptState::rest() {
  ++ends_;
  if (!pipe_.valid()) return;
  std::chrono::milliseconds worked{0};
  if (began_) {
    worked = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - *began_);
    began_.reset();
  }
  // Who waits for a snapshot does not wait for a rest as well.
  const auto pause =
      wisher_ ? kRestMin : std::max(kRestMin, kRestsPerWork * std::min(worked, kWorkMost));
  tell(pause);
  listen(false);
  listen_in(pause);
}

// The next snapshot may come in `next`, and may need the large values that are there. What was
// stored since the last answer may let it have more than that one said.
void KeptState::tell(std::chrono::milliseconds next) {
  const auto at = Clock::now().time_since_epoch() + next;
  told_large_ = files_.needed();
  say(answers_.get(), std::chrono::ceil<std::chrono::milliseconds>(at).count(), told_large_,
      unasked_most());
}

// Some of what is heard then may have been read already.
void KeptState::listen_in(std::chrono::milliseconds pause) {
  loop_.cancel(rest_end_);
  rest_end_ = loop_.after(pause, [this] {
    rest_end_ = 0;
    listen(true);
    on_packets();
  });
}

// While nothing is heard, not even of its end.
void KeptState::listen(bool listens) {
  if (!pipe_.valid() || is_heard_ == listens) return;
  is_heard_ = listens;
  if (!listens) return loop_.forget(pipe_.get());
  const auto watched = loop_.watch(pipe_.get(), EPOLLIN, [this](std::uint32_t) { on_packets(); });
  if (!watched.ok()) hang_up();
}

void KeptState::hang_up() {
  began_.reset();
  is_being_read_ = false;
  is_heard_ = false;
  loop_.cancel(rest_end_);
  if (pipe_.valid()) loop_.forget(pipe_.get());
  pipe_.reset();
  answers_.reset();
  unread_.clear();
  taken_ = 0;
  files_.drop();
  answer(Outcome::kNotWritten);
}

}  // namespace sandbox::box
