// Files that tools write are the session's, as those that its code writes.
#include "sessions/manager.h"

namespace sessions {
namespace {

// A deletion makes room once the box has looked, and a promise is counted once, by the look
// after the next.
constexpr std::chrono::milliseconds kLookPatience{2500};

}  // namespace

base::Status Manager::take_disk_room(const Session& session, std::int64_t bytes) {
  auto taken = base::done();
  (void)wait_until(kLookPatience, [&] {
    taken =
        with_live_box(session, [bytes](sandbox::Box& box) { return box.take_disk_room(bytes); });
    return taken.ok() || taken.error().kind != base::Error::Kind::kLimit;
  });
  return taken;
}

}  // namespace sessions
