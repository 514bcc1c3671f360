// The processes of a box as the host sees them. proc_pid_task(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/work_budget.h"

namespace sandbox::box {

// Returns whether the process has not ended: what was found by its number until now, was found of
// it. A zygote reaps the init of a box at once, and the number may then be given to anybody.
bool is_alive(int pidfd);

// Returns every descendant of `ancestor`, itself not included, by its pid on the host. Orphans of a
// pid namespace become children of its init, so from init this reaches them all.
std::vector<pid_t> read_descendants(pid_t ancestor);

// Returns not all of them where it takes more than the budget: a step for each thread and each
// child.
std::vector<pid_t> read_descendants(pid_t ancestor, base::WorkBudget& budget);

// Processes and threads, as the process limit counts them. proc_pid_status(5)
std::int64_t count_tasks(const std::vector<pid_t>& processes);

}  // namespace sandbox::box
