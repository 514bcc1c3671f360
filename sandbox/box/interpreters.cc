#include "sandbox/box/interpreters.h"

#include <algorithm>
#include <utility>

#include "sandbox/box/profiles.h"

namespace sandbox::box {

using base::Error;

namespace {

// Says why what an interpreter knows is not all stored, or "".
std::string why_not_stored(KeptState::Outcome outcome, const std::string& name) {
  switch (outcome) {
    case KeptState::Outcome::kWhole:
      return "";
    case KeptState::Outcome::kUnstorable:
      return name + " knows something that cannot be stored";
    case KeptState::Outcome::kModulesAlone:
      return name + " knows modules alone, which are imported anew rather than stored";
    case KeptState::Outcome::kTooLarge:
      return name + " knows more than a session may store (memory_mb)";
    case KeptState::Outcome::kNoShare:
      return "what your sessions have stored takes a tenth of the disk, and " + name +
             " knows more than may be stored beside it (delete_session makes room)";
    case KeptState::Outcome::kNoRoom:
      return "the host's disk is nearly full, and what " + name + " knows is not stored";
    case KeptState::Outcome::kNotWritten:
      break;
  }
  return "what " + name + " knows was not written to its end";
}

}  // namespace

Interpreters::Key Interpreters::key_of(const Run& run) {
  return {interpreter_of(run.language), run.context};
}

Interpreters::Slot* Interpreters::find(const Key& key) {
  const auto found = slots_.find(key);
  return found == slots_.end() ? nullptr : &found->second;
}

std::size_t Interpreters::processes() const {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(),
                    [](const auto& entry) { return entry.second.worker != nullptr; }));
}

std::set<pid_t> Interpreters::pids() const {
  std::set<pid_t> pids;
  for (const auto& [key, slot] : slots_) {
    if (slot.worker) pids.insert(slot.worker->pid());
  }
  return pids;
}

// Bash keeps its state in files of the session, SQL its tables: a second one would share them.
base::Status Interpreters::check_context(const RunRequest& request) const {
  if (request.context.empty()) return base::done();
  const Language language = interpreter_of(request.language);
  if (language != Language::kPython && language != Language::kJavaScript) {
    return base::error(Error::Kind::kUnsupported,
                       std::string(name_of(language)) + " has one context in a session");
  }
  const auto known = contexts();
  const auto found = known.find(request.context);
  if (found != known.end() && found->second.language != language) {
    return base::error(Error::Kind::kInvalid, "this context is one of another language");
  }
  const auto there = slots_.find({language, request.context});
  if (there != slots_.end() && there->second.is_over) {
    return base::error(Error::Kind::kConflict, "this context is being ended");
  }
  if (found == known.end() && known.size() >= kContextsMax) {
    return base::error(Error::Kind::kLimit, "this session already has " +
                                                std::to_string(kContextsMax) +
                                                " contexts: end one of them first");
  }
  return base::done();
}

std::map<std::string, RunContext> Interpreters::contexts() const {
  std::map<std::string, RunContext> result;
  for (const auto& [key, slot] : slots_) {
    if (!key.context.empty() && !slot.is_over) {
      result.emplace(key.context, RunContext{key.language, slot.directory});
    }
  }
  return result;
}

Interpreters::Slot* Interpreters::find_context(const std::string& context) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&context](const auto& entry) {
    return entry.first.context == context && !entry.second.is_over;
  });
  return context.empty() || found == slots_.end() ? nullptr : &found->second;
}

std::vector<std::unique_ptr<Worker>> Interpreters::take_ended_contexts() {
  std::vector<std::unique_ptr<Worker>> workers;
  for (auto next = slots_.begin(); next != slots_.end();) {
    const auto one = next++;
    Slot& slot = one->second;
    if (!slot.is_over || slot.current || !slot.queue.empty()) continue;
    if (slot.worker) workers.push_back(std::move(slot.worker));
    slots_.erase(one);
  }
  return workers;
}

KeptState* Interpreters::kept_state_of(const Key& key) const {
  const auto found = kept_states_.find(key.language);
  const bool keeps = key.context.empty() && found != kept_states_.end();
  return keeps ? found->second : nullptr;
}

KeptState* Interpreters::kept_state_of(const Job& job) const {
  return job.own_worker ? nullptr : kept_state_of(key_of(job.run));
}

bool Interpreters::has_state_of(const Key& key) const {
  const KeptState* const kept = kept_state_of(key);
  return kept != nullptr && kept->has_snapshot();
}

std::string Interpreters::run_of_state(const Key& key) const {
  const KeptState* const kept = kept_state_of(key);
  return kept != nullptr && kept->has_snapshot() ? kept->run_of_snapshot() : "";
}

std::size_t Interpreters::count_to_tell_waking(Language language) const {
  std::size_t count = 1;
  for (const auto& [other, kept] : kept_states_) {
    const auto found = slots_.find({other, ""});
    const bool has_told =
        other == language ||
        (found != slots_.end() && found->second.worker != nullptr && !found->second.tells_waking);
    if (!has_told && kept->has_snapshot()) ++count;
  }
  return count;
}

void Interpreters::store(std::int64_t bytes_max,
                         std::function<void(const std::string& held_by)> then) {
  struct Answers {
    std::size_t missing = 1;
    std::string held_by;  // the first of what is told
  };
  const auto answers = std::make_shared<Answers>();
  const auto answer = [answers, then = std::move(then)](const std::string& held_by) {
    if (answers->held_by.empty()) answers->held_by = held_by;
    if (--answers->missing == 0) then(answers->held_by);
  };
  for (const auto& [key, slot] : slots_) {
    KeptState* const kept = kept_state_of(key);
    // One that has only read the last snapshot has nothing new.
    if (kept == nullptr || !slot.worker || slot.execution_count == 0) continue;
    if (slot.current) {  // all that was stored after its last run stays
      answers->held_by = "a run was not over (" + slot.current->run.run_id + ")";
      continue;
    }
    ++answers->missing;
    const std::string name(name_of(key.language));
    const KeptState::Wish wish = kept->await(bytes_max, [answer, name](KeptState::Outcome outcome) {
      answer(why_not_stored(outcome, name));
    });
    slot.worker->store(wish.bytes_max, wish.number);
  }
  answer("");
}

std::string Interpreters::what_is_not_stored() const {
  for (const auto& [key, slot] : slots_) {
    const bool is_used = slot.worker != nullptr && slot.execution_count > 0;
    if (is_used && slot.holds_state && kept_state_of(key) == nullptr) {
      return std::string(name_of(key.language)) +
             " has something that is not stored, as temporary tables";
    }
    if (!slot.loss.empty()) return kUnheard;
  }
  return "";
}

void Interpreters::lose_all(const std::string& why) {
  for (auto& [key, slot] : slots_) {
    if (!slot.worker) continue;
    slot.loss = "the interpreter of " + std::string(name_of(key.language)) + " was " + why +
                fate_of_variables(key);
  }
}

// The interpreter that comes says which of them are back.
std::string Interpreters::fate_of_variables(const Key& key) const {
  if (has_state_of(key)) return ": the next one begins with the variables that were last stored";
  return key.language == Language::kSql ? ": tables are kept, but for what was not committed"
                                        : ": its variables are lost, files kept";
}

std::string Interpreters::fate_of_all() const {
  const bool some = std::any_of(kept_states_.begin(), kept_states_.end(),
                                [](const auto& state) { return state.second->has_snapshot(); });
  return some ? "variables lost but those that were stored" : "variables lost";
}

std::string Interpreters::kept_elsewhere(const Job& job) const {
  std::string kept;
  for (const auto& [key, slot] : slots_) {
    if (!key.context.empty() || key.language == Language::kBash) continue;
    // Tables lie in a file, whatever has become of their interpreter.
    const bool has_tables = key.language == Language::kSql && slot.execution_count > 0;
    if (!slot.worker && !has_tables) continue;
    if (slot.worker && slot.worker.get() == job.worker) continue;
    kept += std::string(", ") + (key.language == Language::kSql      ? "tables of SQL"
                                 : key.language == Language::kPython ? "variables of Python"
                                                                     : "variables of JavaScript");
    kept += " kept";
  }
  return kept;
}

}  // namespace sandbox::box
