#include "sandbox/path_rules.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/session_parts.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kPathBytesMax = 1024;
// Without these nothing would run, or their entries are mounts with rules of their own.
constexpr std::array<std::string_view, 14> kNeeded{"/bin",   "/dev",    "/home", "/lib",  "/lib32",
                                                   "/lib64", "/libx32", "/mnt",  "/proc", "/run",
                                                   "/runs",  "/sbin",   "/tmp",  "/usr"};

Error invalid(const char* key, const std::string& path, const std::string& what) {
  return base::invalid(std::string("filesystem.") + key + ": " + base::echoed(path) + " " + what);
}

bool is_plain(const std::string& path) {
  return path.starts_with('/') && path.size() <= kPathBytesMax &&
         has_plain_parts(std::string_view(path).substr(1)) && path.find('\0') == path.npos;
}

bool is_entry_of_workspace(const std::string& path) {
  return path.starts_with(kBelowWorkspace) && path.find('/', kBelowWorkspace.size()) == path.npos;
}

base::Status check_blocked(const std::string& path) {
  if (path.starts_with(kWorkspace) && !is_entry_of_workspace(path)) {
    return invalid("blocked", path, "is none of the entries of /workspace: name one of these");
  }
  const std::string top = path.substr(0, path.find('/', 1));
  if (base::contains(kNeeded, top)) {
    return invalid("blocked", path, "cannot be blocked: nothing would run without " + top);
  }
  return base::done();
}

}  // namespace

bool is_own_path(const std::string& path) {
  return path.starts_with('/') && !path.starts_with("/mnt/") && path != "/mnt";
}

bool has_plain_parts(std::string_view below) {
  const auto parts = base::split(below, '/');
  return std::none_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  });
}

base::Status check_path_rules(const PathRules& rules) {
  std::set<std::string> seen;
  const auto check_all = [&](const char* key, const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (!is_plain(path)) return base::Status(invalid(key, path, "must be a plain path, as /a/b"));
      if (!seen.insert(path).second) return base::Status(invalid(key, path, "is named twice"));
    }
    if (paths.size() <= kPathRulesMax) return base::done();
    return base::Status(base::invalid(std::string("filesystem.") + key +
                                      " has too many paths: at most " +
                                      std::to_string(kPathRulesMax)));
  };
  TRY(check_all("read_only", rules.read_only));
  TRY(check_all("read_write", rules.read_write));
  TRY(check_all("blocked", rules.blocked));
  for (const std::string& path : rules.read_only) {
    if (!is_entry_of_workspace(path)) {
      return invalid("read_only", path, "is no entry of /workspace, as /workspace/data is");
    }
  }
  for (const std::string& path : rules.read_write) {
    if (!path.starts_with(kBelowWorkspace)) {
      return invalid("read_write", path, "is not in /workspace, where code may write");
    }
    const std::string entry = path.substr(0, path.find('/', kBelowWorkspace.size()));
    if (seen.contains(entry) && entry != path) {
      return invalid("read_write", path, "is in " + entry + ", which is named too");
    }
  }
  for (const std::string& path : rules.blocked) TRY(check_blocked(path));
  return base::done();
}

json path_rules_to_json(const PathRules& rules) {
  return {
      {"read_only", rules.read_only}, {"read_write", rules.read_write}, {"blocked", rules.blocked}};
}

base::Result<PathRules> path_rules_from_json(const json& value) {
  PathRules rules;
  if (value.is_null()) return rules;
  const Error malformed = base::invalid("path rules: malformed");
  if (!value.is_object()) return malformed;
  const auto take = [&value](const char* key, std::vector<std::string>& paths) {
    for (const json& path : value.value(key, json::array())) {
      if (!path.is_string()) return false;
      paths.push_back(path.get<std::string>());
    }
    return true;
  };
  if (!take("read_only", rules.read_only) || !take("read_write", rules.read_write) ||
      !take("blocked", rules.blocked)) {
    return malformed;
  }
  TRY(check_path_rules(rules));
  return rules;
}

}  // namespace sandbox
