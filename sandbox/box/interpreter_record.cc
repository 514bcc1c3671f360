#include "sandbox/box/interpreter_record.h"

#include <unistd.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "sandbox/box/profile.h"

namespace sandbox::box {

using nlohmann::json;

namespace {

constexpr std::size_t kBytesMax = 4096;
constexpr std::size_t kWhyBytesMax = 1000;
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

}  // namespace

base::Result<InterpreterRecord> InterpreterRecord::open(int file_fd) {
  InterpreterRecord record(file_fd);
  const std::string text = TRY(base::read_at(file_fd, 0, kBytesMax));
  const auto value = base::parse_json(text);
  // None yet, or a power cut left half of it: then there is nothing to tell.
  if (!value.ok() || !value.value().is_object()) return record;
  for (const json& name : value.value().value("languages", json::array())) {
    const auto language = find_language(name.is_string() ? name.get<std::string>() : "");
    if (language) record.lost_.insert(interpreter_of(*language));
  }
  record.why_lost_ = base::string_or(value.value(), "why").substr(0, kWhyBytesMax);
  if (record.why_lost_.empty()) record.why_lost_ = kNoWord;
  return record;
}

std::string InterpreterRecord::loss(const std::set<Language>& stored) const {
  std::string what;
  for (const Language language : lost_) {
    if (stored.contains(language)) continue;
    base::append_part(what, state_of(language));
  }
  if (what.empty()) return "";
  return "lost, because " + why_lost_ + ": " + what + "; files kept";
}

void InterpreterRecord::begins(const Run& run) {
  bool changed = !std::exchange(lost_, {}).empty();
  // A background run has an interpreter of its own.
  if (!run.background) changed = used_.insert(interpreter_of(run.language)).second || changed;
  if (changed) write("");
}

void InterpreterRecord::ends(const std::string& why) const {
  // Else what the box before has lost is still to be told.
  if (!used_.empty()) write(why);
}

void InterpreterRecord::rests() {
  if (used_.empty()) return;  // losses of the box before may still be told
  used_.clear();
  write("");
}

// On a full disk it is not written, and the next run is not told.
void InterpreterRecord::write(const std::string& why) const {
  json languages = json::array();
  for (const Language language : used_) languages.push_back(name_of(language));
  const std::string text = base::print_json({{"languages", languages}, {"why", why}});
  if (::ftruncate(file_fd_, 0) != 0) return;
  (void)!::pwrite(file_fd_, text.data(), text.size(), 0);
}

}  // namespace sandbox::box
