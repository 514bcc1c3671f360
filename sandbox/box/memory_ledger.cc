#include "sandbox/box/memory_ledger.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/work_budget.h"

namespace sandbox::box {
namespace {

// Memory that is both mapped and in a file in memory is in two sums. Where that can be no more than
// this share of the most, nobody is asked which of it has a name.
constexpr std::int64_t kDoubtShare = 32;
// A round at one go has this much processor time. The others' memory is not looked at meanwhile.
constexpr std::chrono::nanoseconds kOneGoMax = std::chrono::seconds(2);

std::int64_t all_of(const ProcessMemory& memory) {
  return memory.anonymous_bytes + memory.shared_bytes;
}

// A process that has asked to be killed first counts for so many of its size. No more: it may be
// one of many small ones that the code puts in the way.
constexpr std::int64_t kFirstFactor = 8;

bool is_first_for_memory(pid_t pid) {
  return base::text_of_file("/proc/" + std::to_string(pid) + "/oom_score_adj") == "1000\n";
}

// Nothing that a process has alone is in `unmapped`, and of what it shares, all may be.
class Tally {
 public:
  void add(pid_t pid, const ProcessMemory& memory) {
    own_ += memory.anonymous_bytes + memory.nameless_bytes;
    shared_ += memory.shared_bytes - memory.nameless_bytes;
    const std::int64_t bytes = all_of(memory) * (is_first_for_memory(pid) ? kFirstFactor : 1);
    if (bytes <= largest_bytes_) return;
    largest_bytes_ = bytes;
    largest_ = pid;
  }
  [[nodiscard]] std::int64_t with(std::int64_t unmapped) const {
    return own_ + std::max(shared_, unmapped);
  }
  [[nodiscard]] pid_t largest() const { return largest_; }

 private:
  std::int64_t own_ = 0;
  std::int64_t shared_ = 0;
  std::int64_t largest_bytes_ = -1;
  pid_t largest_ = -1;
};

}  // namespace

void MemoryLedger::take_resident(const std::vector<pid_t>& processes, const std::stop_token& stop) {
  Entries now;
  for (const pid_t pid : processes) {
    if (stop.stop_requested()) break;
    const auto before = entries_.find(pid);
    Entry& entry = now[pid];
    if (before != entries_.end()) entry = before->second;
    entry.resident = resident_memory(pid);
  }
  entries_ = std::move(now);
}

// Counts what a process has grown by since it was asked as its own until it is asked again.
ProcessMemory MemoryLedger::estimate(const Entry& entry) {
  if (!entry.known) return entry.resident;
  const auto grown = [&entry](std::int64_t ProcessMemory::*kind) {
    const std::int64_t growth = entry.resident.*kind - entry.resident_when_asked.*kind;
    return std::min(entry.resident.*kind, entry.told.*kind + std::max<std::int64_t>(growth, 0));
  };
  ProcessMemory memory;
  memory.anonymous_bytes = grown(&ProcessMemory::anonymous_bytes);
  memory.shared_bytes = grown(&ProcessMemory::shared_bytes);
  memory.nameless_bytes = std::min(entry.told.nameless_bytes, memory.shared_bytes);
  return memory;
}

std::vector<pid_t> MemoryLedger::waiting_for_question() const {
  std::vector<std::pair<std::int64_t, pid_t>> waiting;
  for (const auto& [pid, entry] : entries_) {
    if (!entry.asked) waiting.emplace_back(all_of(estimate(entry)), pid);
  }
  std::sort(waiting.begin(), waiting.end(), std::greater<>());
  std::vector<pid_t> processes;
  processes.reserve(waiting.size());
  for (const auto& [bytes, pid] : waiting) processes.push_back(pid);
  return processes;
}

void MemoryLedger::ask(pid_t pid, Nameless nameless, Entry& entry) {
  entry.told = proportional_memory(pid, nameless);
  // After it, so that what came meanwhile is not counted twice.
  entry.resident = resident_memory(pid);
  entry.resident_when_asked = entry.resident;
  entry.known = true;
  entry.asked = true;
}

void MemoryLedger::begin_round() {
  for (auto& [pid, entry] : entries_) entry.asked = false;
}

MemoryLedger::Sum MemoryLedger::look(const std::vector<pid_t>& processes, const Question& question,
                                     const std::stop_token& stop) {
  take_resident(processes, stop);
  std::int64_t resident = question.unmapped_bytes;
  std::int64_t shared = 0;
  Tally tally;
  bool goes_on = false;  // with the round of the last look
  for (const auto& [pid, entry] : entries_) {
    resident += all_of(entry.resident);
    shared += entry.resident.shared_bytes;
    if (entry.asked) tally.add(pid, estimate(entry));
    goes_on = goes_on || entry.asked;
  }
  if (resident <= question.bytes_max) {
    begin_round();
    doubt_ = Doubt::kNone;
    return {resident, -1};
  }
  const std::int64_t in_both = std::min(shared, question.unmapped_bytes);
  const auto nameless =
      in_both > question.bytes_max / kDoubtShare ? Nameless::kAsk : Nameless::kLeave;
  const auto time = doubt_ == Doubt::kAskAtOneGo ? kOneGoMax : question.asking_time_max;
  const auto ends_at = base::thread_cpu_time() + time;
  const auto is_beyond = [&] { return tally.with(question.unmapped_bytes) > question.bytes_max; };
  bool all_asked = true;
  bool time_is_left = true;
  for (const pid_t pid : waiting_for_question()) {
    const bool found = is_beyond() && tally.largest() >= 0;
    all_asked = time_is_left && !found && !stop.stop_requested();
    if (!all_asked) break;
    Entry& entry = entries_[pid];
    ask(pid, nameless, entry);
    tally.add(pid, estimate(entry));
    time_is_left = base::thread_cpu_time() < ends_at;
  }
  const bool beyond = is_beyond() && tally.largest() >= 0;
  if (beyond || all_asked) begin_round();
  if (beyond && goes_on && doubt_ == Doubt::kNone) {
    doubt_ = Doubt::kAskAtOneGo;
    return {question.bytes_max, -1};
  }
  if (beyond || all_asked) {
    doubt_ = Doubt::kNone;
  } else if (doubt_ == Doubt::kAskAtOneGo) {
    doubt_ = Doubt::kAskedAsFarAsTimeWent;
  }
  return {tally.with(question.unmapped_bytes), beyond ? tally.largest() : -1};
}

}  // namespace sandbox::box
