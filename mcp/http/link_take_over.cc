// A connection that is given to somebody else, who does with it what they like.
#include <fcntl.h>

#include "mcp/http/link.h"

namespace mcp::http {

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

}  // namespace mcp::http
