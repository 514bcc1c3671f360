// Paths of a session's own tree that its code may only read, or not see at all. Everything but
// /workspace, /home/user and /tmp is read-only anyway.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace sandbox {

inline constexpr std::size_t kPathRulesMax = 16;  // the most of each kind

struct PathRules {
  std::vector<std::string> read_only;   // entries of /workspace, which nothing can rename
  std::vector<std::string> read_write;  // directories in /workspace, which are there from the start
  std::vector<std::string> blocked;     // read as empty

  [[nodiscard]] bool empty() const {
    return read_only.empty() && read_write.empty() && blocked.empty();
  }
  friend bool operator==(const PathRules&, const PathRules&) = default;
};

// Returns whether a rule of that kind is meant, and not a folder of the host.
bool is_own_path(const std::string& path);

// Returns whether none of the path's parts is empty, "." or "..", by which it would be another path
// too. `below` begins behind a slash.
bool has_plain_parts(std::string_view below);

// Fails with kInvalid, which says what is wrong with which path.
base::Status check_path_rules(const PathRules& rules);

nlohmann::json path_rules_to_json(const PathRules& rules);
// Fails with kInvalid for what path_rules_to_json() cannot have made of rules that are fine.
base::Result<PathRules> path_rules_from_json(const nlohmann::json& value);

}  // namespace sandbox
