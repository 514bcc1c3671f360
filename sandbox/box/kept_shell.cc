#include "sandbox/box/kept_shell.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <cstdio>
#include <utility>

#include <boost/crc.hpp>

#include "base/text.h"
#include "sandbox/box/bash_state.h"
#include "sandbox/files/acting_ids.h"
#include "sandbox/files/open_in_root.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {
namespace {

constexpr const char* kInBox = "run/hutch/state";
// It is read and written between two runs.
constexpr std::size_t kShellBytesMax = 1 << 20;
constexpr const char* kDamaged =
    "a copy of the shell's state is damaged on the disk: bash may be as after an earlier run, or "
    "new";
constexpr std::size_t kLacksWithin = 64;  // it is the second line
constexpr std::size_t kLacksMost = 150;

// A copy has a line more than the state, behind the first one: what the disk has made of it is not
// run. It guards against damage alone, since nobody but hutch can write there.
constexpr std::string_view kSumHead = "# crc32 ";
constexpr std::size_t kSumDigits = 8;
constexpr std::size_t kSumLineBytes = kSumHead.size() + kSumDigits + 1;

std::string sum_line_of(std::string_view state) {
  boost::crc_32_type sum;
  sum.process_bytes(state.data(), state.size());
  std::array<char, kSumDigits + 1> digits{};
  (void)std::snprintf(digits.data(), digits.size(), "%08x", static_cast<unsigned>(sum.checksum()));
  return std::string(kSumHead) + digits.data() + "\n";
}

std::string with_sum(std::string state) {
  const std::string line = sum_line_of(state);
  return state.insert(state.find('\n') + 1, line);
}

// Returns "" for one that is damaged. Copies of earlier builds have no sum.
std::string without_sum(std::string copy) {
  const std::size_t place = copy.find('\n') + 1;
  const std::string line = copy.substr(place, kSumLineBytes);
  if (!line.starts_with(kSumHead)) return copy;
  copy.erase(place, line.size());
  return line == sum_line_of(copy) ? copy : "";
}

// Leaves out what can neither be in a name nor stand between names: the code may have written it.
// Names are whole.
std::string not_kept_in(std::string_view state) {
  constexpr std::string_view kHead = "\n# not kept: ";
  const std::size_t place = state.substr(0, kLacksWithin).find(kHead);
  if (place == std::string_view::npos) return "";
  std::string_view line = state.substr(place + kHead.size());
  line = line.substr(0, line.find('\n'));
  std::string said(line.substr(0, kLacksMost));
  std::ptrdiff_t left_out = 0;
  if (line.size() > kLacksMost) {
    said.resize(std::min(said.size(), said.rfind(',')));
    const std::string_view rest = line.substr(said.size() + (said.size() < kLacksMost ? 1 : 0));
    left_out = std::count(rest.begin(), rest.end(), ',') + 1;
  }
  const auto is_odd = [](char one) {
    return !((one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') ||
             (one >= '0' && one <= '9') || one == '_' || one == ' ' || one == ',' || one == '-');
  };
  std::erase_if(said, is_odd);
  if (left_out > 0) said += " and " + std::to_string(left_out) + " more";
  return said;
}

}  // namespace

base::Result<std::unique_ptr<KeptShell>> KeptShell::open(EventLoop& loop, StateDirectory& directory,
                                                         int root_fd,
                                                         std::optional<std::uint32_t> owner) {
  auto side = TRY(SideThread::create(loop));
  std::unique_ptr<KeptShell> kept(new KeptShell(loop, directory, root_fd, owner));
  kept->side_ = std::move(side);
  return kept;
}

KeptShell::KeptShell(EventLoop& loop, StateDirectory& directory, int root_fd,
                     std::optional<std::uint32_t> owner)
    : loop_(loop), directory_(directory), root_fd_(root_fd), owner_(owner) {
  (void)::unlinkat(directory_.fd(), kUnfinishedShell, 0);  // left by a box that was killed
}

KeptShell::~KeptShell() { loop_.cancel(rest_end_); }

KeptShell::Copy KeptShell::copy(std::size_t number) const {
  const auto file =
      base::open_file(directory_.fd(), kShellCopies.at(number), O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return {};
  auto text = base::read_all(file.value().get(), kShellBytesMax + kSumLineBytes);
  const bool is_whole = text.ok() && bash_state_number_of(text.value()) != 0;
  Copy copy{is_whole ? without_sum(std::move(text).value()) : ""};
  copy.is_damaged = copy.text.empty();
  return copy;
}

bool KeptShell::put_back() {
  const std::array<Copy, 2> copies{copy(0), copy(1)};
  // Which of the two was the newer one cannot be told.
  if (copies[0].is_damaged || copies[1].is_damaged) lack_ = kDamaged;
  const std::size_t newer =
      bash_state_number_of(copies[1].text) > bash_state_number_of(copies[0].text) ? 1 : 0;
  const std::string& text = copies.at(newer).text;
  if (text.empty()) return false;
  // The file system of that place knows no other ids than the session's.
  const files::ActingIds ids(files::identity_of(owner_));
  if (!ids.status().ok()) return false;
  const base::UniqueFd place = files::open_without_links(root_fd_, kInBox, O_RDONLY | O_DIRECTORY);
  if (!place.valid()) return false;
  const auto file =
      base::open_file(place.get(), kShellCopies[0], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.ok() || !base::write_all(file.value().get(), text).ok()) return false;
  // Only the box before knew whether the disk has it; where it has, this takes no time.
  const auto kept = base::open_file(directory_.fd(), kShellCopies.at(newer), O_RDONLY | O_NOFOLLOW);
  if (kept.ok()) (void)::fsync(kept.value().get());
  note_stored(bash_state_number_of(text), text);
  synced_number_ = stored_number_;
  next_ = 1 - newer;
  if (const std::string names = not_kept_in(text); !names.empty()) {
    base::append_part(lack_, "a new bash is as after its last run, but for: " + names, "; ");
  }
  return true;
}

void KeptShell::store() {
  const std::int64_t number = bash_state_number(root_fd_);
  if (number == 0 || number == stored_number_) return;  // 0: the box may be going
  const std::string text = newest_bash_state(root_fd_, kShellBytesMax);
  if (bash_state_number_of(text) != number) return forget();  // an older one is not the shell's
  if (number > stored_number_ && !stored_body_.empty() && bash_state_body(text) == stored_body_) {
    if (synced_number_ == stored_number_) synced_number_ = number;
    stored_number_ = number;
    return sync();
  }
  if (!put(text)) return;
  // bash has begun anew: the next box would take the other one for the newer.
  if (number < stored_number_) (void)::unlinkat(directory_.fd(), kShellCopies.at(1 - next_), 0);
  note_stored(number, text);
  sync();
}

void KeptShell::note_stored(std::int64_t number, const std::string& text) {
  constexpr std::size_t kRememberedBytesMax = 16 << 10;
  stored_number_ = number;
  const std::string_view body = bash_state_body(text);
  stored_body_ = body.size() <= kRememberedBytesMax ? body : std::string_view();
}

// It is too large.
void KeptShell::forget() {
  stored_body_.clear();
  for (const char* copy : kShellCopies) (void)::unlinkat(directory_.fd(), copy, 0);
}

bool KeptShell::put(const std::string& text) {
  if (!directory_.make().ok()) return false;
  const auto file = base::open_file(directory_.fd(), kUnfinishedShell,
                                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  const bool is_there =
      file.ok() && base::write_all(file.value().get(), with_sum(text)).ok() &&
      ::renameat(directory_.fd(), kUnfinishedShell, directory_.fd(), kShellCopies.at(next_)) == 0;
  if (!is_there) (void)::unlinkat(directory_.fd(), kUnfinishedShell, 0);
  return is_there;
}

void KeptShell::sync() {
  if (side_->busy() || rest_end_ != 0 || synced_number_ == stored_number_) return;
  auto file = base::open_file(directory_.fd(), kShellCopies.at(next_), O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return;
  side_->run([this, number = stored_number_,
              file = std::make_shared<base::UniqueFd>(std::move(file).value())](
                 const std::stop_token&) -> std::function<void()> {
    const auto began = Clock::now();
    const bool is_there = ::fsync(file->get()) == 0;
    const auto worked = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - began);
    return [this, number, is_there, worked] {
      if (!is_there) return;  // the next copy tries again
      if (number == stored_number_) {
        synced_number_ = number;
        next_ = 1 - next_;
      }
      rest_end_ = loop_.after(kRestsPerWork * std::min(worked, kWorkMost), [this] {
        rest_end_ = 0;
        sync();
      });
    };
  });
}

// A copy that came while another one was being brought to the disk is the second.
void KeptShell::flush() {
  store();
  for (int copies = 0; copies < 2; ++copies) {
    side_->finish();
    loop_.cancel(rest_end_);
    sync();
  }
  side_->finish();
}

bool KeptShell::is_stored() const { return bash_state_number(root_fd_) == stored_number_; }

}  // namespace sandbox::box
