// Interpreters holds those of a session, one for each language and one for each context that runs
// name: it knows which runs wait for each, and what is lost where one ends. Used from the loop's
// thread.
//
// A context is an interpreter that some runs have for themselves: it is there from the first run
// that names it until it is ended or the box is.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/box/job.h"
#include "sandbox/box/kept_state.h"
#include "sandbox/box/worker.h"
#include "sandbox/run.h"

namespace sandbox::box {

class Interpreters {
 public:
  using JobPointer = std::shared_ptr<Job>;
  struct Key {
    Language language;    // interpreter_of()
    std::string context;  // empty: the shared one
    auto operator<=>(const Key&) const = default;
  };
  struct Slot {
    std::unique_ptr<Worker> worker;
    std::deque<JobPointer> queue;
    JobPointer current;
    std::int64_t execution_count = 0;  // runs since its interpreter started
    bool interrupted = false;          // a signal may be on its way that no later run must get
    bool ended_by_us = false;          // its loss is told, or is nobody's
    std::string loss;                  // for the note of its next run
    std::string directory;             // in which it starts
    bool is_over = false;              // its context was ended
    bool holds_state = false;          // that goes with its process, as far as its runner says
    bool tells_waking = false;         // its next run says what is back of what was stored
    bool has_woken = false;
  };
  static constexpr const char* kUnheard = "its next run is to hear what was lost before";

  // The kept states store what interpreters know: by language, borrowed. Without one nothing
  // outlives the processes.
  explicit Interpreters(const std::map<Language, KeptState*>& kept_states)
      : kept_states_(kept_states) {}

  static Key key_of(const Run& run);
  // Returns the slot of an interpreter, which is made where there is none.
  Slot& slot(const Key& key) { return slots_[key]; }
  [[nodiscard]] Slot* find(const Key& key);
  [[nodiscard]] std::map<Key, Slot>& all() { return slots_; }
  [[nodiscard]] std::size_t processes() const;
  [[nodiscard]] std::set<pid_t> pids() const;

  // Fails where a run names a context that it cannot have.
  [[nodiscard]] base::Status check_context(const RunRequest& request) const;
  [[nodiscard]] std::map<std::string, RunContext> contexts() const;
  // Returns the slot of a context that is there, or null.
  [[nodiscard]] Slot* find_context(const std::string& context);
  // Forgets the contexts that were ended and have no run, and returns their processes.
  [[nodiscard]] std::vector<std::unique_ptr<Worker>> take_ended_contexts();

  // Returns what stores the state of an interpreter, or of the one that a run has, or null where
  // nothing does.
  [[nodiscard]] KeptState* kept_state_of(const Key& key) const;
  [[nodiscard]] KeptState* kept_state_of(const Job& job) const;
  [[nodiscard]] bool has_state_of(const Key& key) const;
  // Returns the last run that this state has, or "" where that is not known.
  [[nodiscard]] std::string run_of_state(const Key& key) const;
  // Returns how many of the shared ones may still tell what is back of what was stored, with
  // `language`, which does now.
  [[nodiscard]] std::size_t count_to_tell_waking(Language language) const;
  // Stores what those know that run nothing, for as long as it takes. `then` hears later of the
  // first that is not stored, or "".
  void store(std::int64_t bytes_max, std::function<void(const std::string& held_by)> then);
  // Names something that would be lost with their processes and that nothing can store, or "".
  [[nodiscard]] std::string what_is_not_stored() const;

  // The processes are about to end for this reason: the next run of each hears it, since no other
  // may ever come.
  void lose_all(const std::string& why);
  // Says what becomes of the variables where the process of one ends, or of all.
  [[nodiscard]] std::string fate_of_variables(const Key& key) const;
  [[nodiscard]] std::string fate_of_all() const;
  // Returns in words what others hold than the interpreter of this run, whatever becomes of that.
  [[nodiscard]] std::string kept_elsewhere(const Job& job) const;

 private:
  const std::map<Language, KeptState*>& kept_states_;
  std::map<Key, Slot> slots_;
};

}  // namespace sandbox::box
