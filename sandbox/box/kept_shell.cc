#include "sandbox/box/kept_shell.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <utility>

#include "sandbox/box/bash_state.h"
#include "sandbox/files/acting_ids.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::box {
namespace {

constexpr std::array<const char*, 2> kCopies{"bash.0", "bash.1"};
constexpr const char* kInBox = "run/hutch/state";
// It is read and written between two runs.
constexpr std::size_t kShellBytesMax = 1 << 20;

}  // namespace

base::Result<std::unique_ptr<KeptShell>> KeptShell::open(int directory_fd, int root_fd,
                                                         std::optional<std::uint32_t> owner) {
  auto directory = TRY(base::duplicate(directory_fd));
  return std::unique_ptr<KeptShell>(new KeptShell(std::move(directory), root_fd, owner));
}

std::string KeptShell::copy(int number) const {
  const auto file = base::open_file(directory_.get(), kCopies.at(static_cast<std::size_t>(number)),
                                    O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return "";
  auto text = base::read_all(file.value().get(), kShellBytesMax);
  return text.ok() && bash_state_number_of(text.value()) > 0 ? std::move(text).value() : "";
}

bool KeptShell::put_back() {
  const std::array<std::string, 2> copies{copy(0), copy(1)};
  const int newer = bash_state_number_of(copies[1]) > bash_state_number_of(copies[0]) ? 1 : 0;
  const std::string& text = copies.at(static_cast<std::size_t>(newer));
  if (text.empty()) return false;
  // The file system of that place knows no other ids than the session's.
  const files::ActingIds ids(files::identity_of(owner_));
  if (!ids.status().ok()) return false;
  const base::UniqueFd place = files::open_without_links(root_fd_, kInBox, O_RDONLY | O_DIRECTORY);
  if (!place.valid()) return false;
  const auto file =
      base::open_file(place.get(), kCopies[0], O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.ok() || !base::write_all(file.value().get(), text).ok()) return false;
  stored_number_ = bash_state_number_of(text);
  next_ = 1 - newer;
  return true;
}

void KeptShell::store() {
  const std::int64_t number = bash_state_number(root_fd_);
  if (number == stored_number_) return;
  const std::string text = newest_bash_state(root_fd_, kShellBytesMax);
  if (bash_state_number_of(text) != number) {  // it is too large: an older one is not the shell's
    for (const char* copy : kCopies) (void)::unlinkat(directory_.get(), copy, 0);
    return;
  }
  const auto file = base::open_file(directory_.get(), kCopies.at(static_cast<std::size_t>(next_)),
                                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (!file.ok() || !base::write_all(file.value().get(), text).ok()) return;
  stored_number_ = bash_state_number_of(text);
  next_ = 1 - next_;
}

void KeptShell::flush() const {
  const auto newest = base::open_file(
      directory_.get(), kCopies.at(static_cast<std::size_t>(1 - next_)), O_RDONLY | O_NOFOLLOW);
  if (newest.ok()) (void)::fsync(newest.value().get());
}

bool KeptShell::is_stored() const { return bash_state_number(root_fd_) == stored_number_; }

}  // namespace sandbox::box
