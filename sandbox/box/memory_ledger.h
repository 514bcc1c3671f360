// Finds out over many looks what a session's processes cost in memory. The truth about a process
// that has very many mappings takes long to find out, and may not hide the others.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <vector>

#include "sandbox/box/process_memory.h"

namespace sandbox::box {

// It is for one thread at a time.
class MemoryLedger {
 public:
  struct Question {
    std::int64_t bytes_max = 0;
    std::int64_t unmapped_bytes = 0;           // in files in memory, mapped or not
    std::chrono::nanoseconds asking_time_max;  // the thread's; one process is asked in any case
  };
  struct Sum {
    std::int64_t bytes = 0;  // no more than is there, once it is beyond the most
    pid_t largest = -1;      // who uses most of it, when it is beyond the most
  };

  // Asks all with what they have resident, which is cheap and never less than the truth. When that
  // is too much, asks for the truth, round after round: first whom it would tell most of, which is
  // what is new or has grown, and goes on with the others at the next look. What is beyond the most
  // only when the answers of several looks are taken together is asked for once more at one go:
  // memory may have come to be shared, or have gone, in between.
  Sum look(const std::vector<pid_t>& processes, const Question& question,
           const std::stop_token& stop);

 private:
  struct Entry {
    ProcessMemory resident;
    ProcessMemory resident_when_asked;
    ProcessMemory told;  // the truth, then
    bool known = false;
    bool asked = false;  // in this round
  };
  using Entries = std::map<pid_t, Entry>;

  enum class Doubt { kNone, kAskAtOneGo, kAskedAsFarAsTimeWent };

  void take_resident(const std::vector<pid_t>& processes, const std::stop_token& stop);
  [[nodiscard]] std::vector<pid_t> waiting_for_question() const;
  static ProcessMemory estimate(const Entry& entry);
  static void ask(pid_t pid, Nameless nameless, Entry& entry);
  void begin_round();

  Entries entries_;
  Doubt doubt_ = Doubt::kNone;
};

}  // namespace sandbox::box
