#include "sandbox/enforcement.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sandbox {
namespace {

constexpr const Holder* kHolders[] = {&kCgroup1, &kCgroup2,        &kProjectQuota,
                                      &kRlimit,  &kSparedRlimit,   &kAffinity,
                                      &kWatch,   &kWatchAndRlimit, &kBox};

// Who holds a limit: the member of the isolation that says so, or the same on every host, because a
// box that cannot be given it does not start.
struct Source {
  const char* limit;
  std::string Isolation::*member;
  const Holder* always;
};

constexpr Source kSources[] = {
    {"memory_mb", &Isolation::memory, nullptr},
    {"cpus", &Isolation::cpus, nullptr},
    {"processes", &Isolation::processes, nullptr},
    {"disk_mb", &Isolation::disk, nullptr},
    {"files", &Isolation::disk, nullptr},
    {"open_files", nullptr, &kRlimit},
    {"run_seconds", nullptr, &kBox},
    {"output_mb", nullptr, &kBox},
};

constexpr bool each_limit_has_its_source() {
  return std::equal(std::begin(kSources), std::end(kSources), std::begin(kLimitRows),
                    std::end(kLimitRows), [](const Source& source, const LimitRow& row) {
                      return std::string_view(source.limit) == row.name;
                    });
}
static_assert(each_limit_has_its_source());

Level worth(const std::string& words) {
  const auto* const known =
      std::find_if(std::begin(kHolders), std::end(kHolders),
                   [&words](const Holder* holder) { return words == holder->words; });
  return known == std::end(kHolders) ? Level::kNone : (*known)->level;
}

}  // namespace

const char* name_of(Level level) {
  switch (level) {
    case Level::kNone:
      return "none";
    case Level::kWatched:
      return "watched";
    case Level::kHard:
      return "hard";
  }
  return "";
}

std::vector<Enforced> enforcement_of(const Isolation& isolation) {
  std::vector<Enforced> enforcement;
  for (const Source& source : kSources) {
    const std::string words =
        source.always != nullptr ? source.always->words : isolation.*source.member;
    enforcement.push_back({source.limit, worth(words), words});
  }
  return enforcement;
}

nlohmann::json enforcement_to_json(const std::vector<Enforced>& enforcement) {
  nlohmann::json value = nlohmann::json::object();
  for (const Enforced& one : enforcement) value[one.limit] = name_of(one.level);
  return value;
}

}  // namespace sandbox
