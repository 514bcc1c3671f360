// The processes that one run of an interpreter has started. proc_pid_stat(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>

#include "sandbox/box/init_process.h"

namespace sandbox::box {

// Now, in the unit in which the kernel keeps the start of processes.
std::int64_t process_clock();

// Ends what the interpreter `worker` (its pid inside the box) has started since `since` and what is
// still in its session: not what earlier runs have left behind, nor what has called setsid(2) to
// outlive its run.
void end_processes_since(const InitProcess& init, pid_t worker, std::int64_t since);

// The same ones, of which some wait for others, are told to stop by SIGINT.
void interrupt_processes_since(const InitProcess& init, pid_t worker, std::int64_t since);

// Ends every process of the box but `workers` (their pids inside the box) and init.
void end_all_processes_but(const InitProcess& init, const std::set<pid_t>& workers);

}  // namespace sandbox::box
