#include "sessions/at_once.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace sessions {
namespace {

constexpr std::size_t kThreadsMax = 16;

}  // namespace

void at_once(std::size_t count, const std::function<void(std::size_t)>& each) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) each(i);
  };
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < std::min(kThreadsMax, count)) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads on this host: those there are do it
  }
  work();
}

}  // namespace sessions
