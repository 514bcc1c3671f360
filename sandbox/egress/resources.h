// What all sessions at the door share.
#pragma once

#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/lookups.h"
#include "sandbox/egress/places.h"

namespace sandbox::egress {

struct Resources {
  explicit Resources(std::size_t connections_most) : places(connections_most) {}

  asio::thread_pool lookup_threads{Lookups::kThreads};
  Places places;
};

}  // namespace sandbox::egress
