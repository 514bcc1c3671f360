#include "sandbox/box/process_tree.h"

#include <dirent.h>
#include <poll.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include "base/fd.h"

namespace sandbox::box {
namespace {

// More than any session may have: a bound for the loop, not for the session. Threads that come and
// go can be met with one process after the other.
constexpr base::WorkBudget::Bounds kMost{.steps = 262'144, .cpu_time = std::chrono::seconds(10)};

void add_children(pid_t parent, base::WorkBudget& budget, std::vector<pid_t>& found) {
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(tasks.c_str()), &::closedir);
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT: one thread
    if (entry->d_name[0] == '.') continue;
    if (!budget.take()) return;
    std::ifstream children(tasks + "/" + entry->d_name + "/children");
    for (pid_t child = 0; budget.take() && children >> child;) found.push_back(child);
  }
}

}  // namespace

bool is_alive(int pidfd) {
  const auto events = base::wait_for(pidfd, POLLIN, std::chrono::steady_clock::now());
  return events.ok() && events.value() == 0;
}

std::vector<pid_t> read_descendants(pid_t ancestor, base::WorkBudget& budget) {
  std::vector<pid_t> found;
  add_children(ancestor, budget, found);
  for (std::size_t i = 0; i < found.size() && !budget.spent(); ++i) {
    add_children(found[i], budget, found);
  }
  return found;
}

std::vector<pid_t> read_descendants(pid_t ancestor) {
  base::WorkBudget budget(kMost);
  return read_descendants(ancestor, budget);
}

std::int64_t count_tasks(const std::vector<pid_t>& processes) {
  std::int64_t tasks = 0;
  for (const pid_t pid : processes) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("Threads:")) continue;
      tasks += std::strtoll(line.c_str() + sizeof "Threads:", nullptr, 10);
      break;
    }
  }
  return tasks;
}

}  // namespace sandbox::box
