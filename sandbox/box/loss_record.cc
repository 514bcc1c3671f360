#include "sandbox/box/loss_record.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/random_id.h"
#include "base/text.h"
#include "sandbox/box/profiles.h"

namespace sandbox::box {

using nlohmann::json;

namespace {

constexpr std::size_t kBytesMax = 8192;
constexpr std::size_t kRunsMax = 64;
constexpr std::size_t kRunsTold = 3;
constexpr std::size_t kWhyBytesMax = 1000;
constexpr std::size_t kCommandsBytesMax = 600;
// This is told as the reason when a box was killed or its machine went down.
constexpr const char* kNoWord = "its sandbox was killed";

// Names the state that goes with the box; the rest of it is in files. `language` is never
// TypeScript, which shares JavaScript's interpreter.
const char* state_of(Language language) {
  switch (language) {
    case Language::kSql:
      return "temporary tables of sql";
    case Language::kBash:
      return "working directory and variables of bash";
    case Language::kPython:
      return "variables of python";
    default:
      return "variables of javascript";
  }
}

std::string in_words(const LeftProcesses& processes) {
  std::string named;
  for (const LeftProcess& process : processes.named) base::append_part(named, process.command);
  if (named.size() > kCommandsBytesMax) named = named.substr(0, kCommandsBytesMax) + "...";
  if (processes.more > 0) base::append_part(named, std::to_string(processes.more) + " more");
  if (named.empty()) return "";
  const bool is_one = processes.named.size() + processes.more == 1;
  return (is_one ? "the process " : "processes ") + named;
}

std::string in_words(const std::vector<std::string>& runs) {
  std::string named;
  for (std::size_t i = 0; i < std::min(runs.size(), kRunsTold); ++i) {
    base::append_part(named, runs[i]);
  }
  if (runs.size() > kRunsTold) {
    base::append_part(named, std::to_string(runs.size() - kRunsTold) + " more");
  }
  return std::string(runs.size() == 1 ? "the background run " : "background runs ") + named +
         " (get_run has what was printed)";
}

}  // namespace

base::Result<LossRecord> LossRecord::open(int file_fd) {
  LossRecord record(file_fd);
  const std::string text = TRY(base::read_at(file_fd, 0, kBytesMax));
  const auto value = base::parse_json(text);
  // None yet, or a power cut left half of it: then there is nothing to tell.
  if (!value.ok() || !value.value().is_object()) return record;
  for (const json& name : value.value().value("languages", json::array())) {
    const auto language = find_language(name.is_string() ? name.get<std::string>() : "");
    if (language) record.lost_.insert(interpreter_of(*language));
  }
  for (const json& run : value.value().value("runs", json::array())) {
    if (!run.is_string() || record.lost_runs_.size() == kRunsMax) continue;
    const auto id = run.get<std::string>();
    if (base::is_short_id(id, "run_")) record.lost_runs_.push_back(id);
  }
  record.lost_processes_ = base::string_or(value.value(), "processes").substr(0, kWhyBytesMax);
  record.why_lost_ = base::string_or(value.value(), "why").substr(0, kWhyBytesMax);
  if (record.why_lost_.empty()) record.why_lost_ = kNoWord;
  return record;
}

std::string LossRecord::loss(const std::set<Language>& stored) const {
  std::string what;
  for (const Language language : lost_) {
    if (stored.contains(language)) continue;
    base::append_part(what, state_of(language));
  }
  if (!lost_runs_.empty()) base::append_part(what, in_words(lost_runs_));
  if (!lost_processes_.empty()) base::append_part(what, lost_processes_);
  if (what.empty()) return "";
  return "lost, because " + why_lost_ + ": " + what + "; files kept";
}

void LossRecord::begins(const Run& run, bool comes_back) {
  bool changed = !std::exchange(lost_, {}).empty();
  changed = !std::exchange(lost_runs_, {}).empty() || changed;
  changed = !std::exchange(lost_processes_, {}).empty() || changed;
  // A background run has an interpreter of its own.
  if (!run.background) changed = used_.insert(interpreter_of(run.language)).second || changed;
  if (run.background && !comes_back && runs_.size() < kRunsMax) {
    runs_.push_back(run.run_id);
    changed = true;
  }
  if (changed) write();
}

void LossRecord::is_over(const std::string& run_id) {
  if (!has_ended_ && std::erase(runs_, run_id) > 0) write();
}

void LossRecord::ends(const std::string& why, const LeftProcesses& processes) {
  has_ended_ = true;
  // Else what the box before has lost is still to be told.
  if (!used_.empty() || !runs_.empty() || !processes.named.empty()) write(why, processes);
}

void LossRecord::rests() {
  if (used_.empty() && runs_.empty()) return;  // losses of the box before may still be told
  used_.clear();
  runs_.clear();
  write();
}

// On a full disk it is not written, and the next run is not told.
void LossRecord::write(const std::string& why, const LeftProcesses& processes) const {
  json languages = json::array();
  for (const Language language : used_) languages.push_back(name_of(language));
  const std::string text = base::print_json({{"languages", languages},
                                             {"runs", runs_},
                                             {"processes", in_words(processes)},
                                             {"why", why}});
  if (::ftruncate(file_fd_, 0) != 0) return;
  (void)!::pwrite(file_fd_, text.data(), text.size(), 0);
}

}  // namespace sandbox::box
