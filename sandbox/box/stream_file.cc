#include "sandbox/box/stream_file.h"

#include <fcntl.h>

#include <algorithm>

namespace sandbox::box {
namespace {
// The longest last words are node's: its own stack, some lines of which have 300 characters.
constexpr std::size_t kTailBytes = 8192;
}  // namespace

base::Result<std::shared_ptr<StreamFile>> StreamFile::create(int directory_fd, std::string name,
                                                             std::int64_t bytes_max, Keep keep) {
  base::UniqueFd directory(::fcntl(directory_fd, F_DUPFD_CLOEXEC, 0));
  if (!directory.valid()) return base::Error::from_errno("keep the directory of a run");
  return std::shared_ptr<StreamFile>(
      new StreamFile(std::move(directory), std::move(name), bytes_max, keep));
}

base::Status StreamFile::open_file() {
  file_ = TRY(base::open_file(directory_.get(), name_,
                              O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0644));
  directory_.reset();
  return base::done();
}

// The older half. Where files have no holes, the end is the end.
void StreamFile::forget_some() {
  const std::int64_t half = bytes_max_ / 2;
  if (!file_.valid() || ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    forgotten_bytes_, half) != 0) {
    return;
  }
  forgotten_bytes_ += half;
  if (grown_) grown_(-half);
}

void StreamFile::append(std::string_view bytes) {
  const auto room_now = [this] {
    return static_cast<std::size_t>(bytes_max_ - (bytes_ - forgotten_bytes_));
  };
  if (keep_ == Keep::kLast && bytes.size() > room_now()) forget_some();
  const std::size_t room = room_now();
  if (bytes.size() > room) {
    over_limit_ = true;
    bytes = bytes.substr(0, room);
  }
  if (bytes.empty()) return;
  tail_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes)));
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  if ((file_.valid() || open_file().ok()) && base::write_all(file_.get(), bytes).ok()) {
    bytes_ += static_cast<std::int64_t>(bytes.size());
    if (grown_) grown_(static_cast<std::int64_t>(bytes.size()));
  } else {
    over_limit_ = no_room_ = true;
  }
}

}  // namespace sandbox::box
