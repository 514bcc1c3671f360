#include "sandbox/box/memory_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "sandbox/box/machine_view.h"
#include "sandbox/files/open_in_root.h"

namespace sandbox::box {
namespace {

constexpr std::chrono::seconds kPause{1};

}  // namespace

MemoryView::MemoryView(int root_fd, const Limits& limits)
    : total_bytes_(memory_of_session(limits)) {
  const base::UniqueFd place = files::open_without_links(root_fd, "proc/meminfo", O_PATH);
  // The kernel's own, in a box that shows it, says what is true of the host.
  if (!place.valid() || files::is_kernel_filesystem(place.get())) return;
  // No code runs yet: of an ordinary user's box it has the id that the file belongs to, too.
  if (!files::change_mode(place.get(), S_IRUSR | S_IWUSR)) return;
  file_ = files::reopen(place.get(), O_WRONLY);
  if (!files::change_mode(place.get(), S_IRUSR | S_IRGRP | S_IROTH)) file_.reset();
}

bool MemoryView::is_due(Clock::time_point now) const {
  return file_.valid() && now - shown_at_ >= kPause;
}

void MemoryView::show(std::int64_t used_bytes, std::int64_t cache_bytes, Clock::time_point now) {
  shown_at_ = now;
  // As long as before, so that whoever reads it meanwhile finds whole lines. In memory: when there
  // is no room the last one stays.
  const std::string text = meminfo_of(total_bytes_, used_bytes, cache_bytes);
  (void)!::pwrite(file_.get(), text.data(), text.size(), 0);
}

}  // namespace sandbox::box
