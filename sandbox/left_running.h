// Tells of processes that go on behind the end of their run: as data, since whoever reads of the
// run later leaves out what has ended.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace sandbox {

// LeftRunning is one teller's look: the interpreter tells of its children, init of all other
// processes.
struct LeftRunning {
  struct Process {
    // Pids inside the box. More than one: a subshell, and then what it waits for.
    std::vector<pid_t> pids;
    std::string command;  // its command line, in short
  };
  static constexpr std::size_t kProcessesMax = 5;
  static constexpr std::size_t kPidsMax = 64;  // for each of them

  std::vector<Process> processes;  // at most kProcessesMax
  std::int64_t more = 0;           // beside these
  bool of_earlier_run = false;     // whose end could not tell of it
  bool has_objects = false;        // the interpreter has objects that end them
  bool may_print = false;          // get_run of the run has what they print later

  [[nodiscard]] bool empty() const { return processes.empty() && more == 0; }
};

nlohmann::json left_running_to_json(const LeftRunning& left);
// Reads what a box may have written: anything that is no part of one is left out.
LeftRunning left_running_from_json(const nlohmann::json& value);

// Says in words what was left, and how it is ended; empty where that is nothing.
std::string in_words(const LeftRunning& left);

// Takes out the processes of which none of the pids lives. Those that are only counted may live:
// where all others have ended, these stay, as the only ones that are named.
void leave_out_ended(LeftRunning& left, const std::function<bool(pid_t)>& lives);

}  // namespace sandbox
