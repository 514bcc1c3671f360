// The arguments of the tools: one table is both the JSON schema that clients see and the check of
// what they send.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "base/json_value.h"

namespace tools {

struct Argument {
  enum class Type { kString, kInteger, kBoolean, kObject, kStringList, kStringMap };
  std::string name;
  Type type = Type::kString;
  bool required = false;
  std::string description = {};            // for the model; empty when the name says it
  std::optional<std::int64_t> least = {};  // a number's
  std::optional<std::int64_t> most = {};   // a number's; bytes of a string; entries of a list
  std::vector<std::string> values = {};    // a string's: nothing else is accepted
  // It is code, or text that goes into a file or to a process, and no name: half a character in it
  // becomes U+FFFD. Of a map the values are meant.
  bool is_content = false;
};

// Arguments have been checked. Absent ones give the fallback.
class Arguments {
 public:
  explicit Arguments(base::JsonValue values, std::vector<std::string> with_halves = {})
      : values_(std::move(values)), with_halves_(std::move(with_halves)) {}

  [[nodiscard]] bool has(const char* name) const;
  [[nodiscard]] std::string text(const char* name, const std::string& fallback = "") const;
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t fallback) const;
  [[nodiscard]] std::optional<std::int64_t> find_integer(const char* name) const;
  [[nodiscard]] bool boolean(const char* name, bool fallback) const;
  [[nodiscard]] std::vector<std::string> list(const char* name) const;
  [[nodiscard]] std::map<std::string, std::string> map(const char* name) const;
  [[nodiscard]] nlohmann::json object(const char* name) const;  // null when absent

  // Returns what to tell of those that came with halves of characters; empty where there are none.
  [[nodiscard]] std::string told_of_halves() const;

 private:
  base::JsonValue values_;
  std::vector<std::string> with_halves_;  // their names
};

// Returns the tool's inputSchema: a flat object.
nlohmann::json schema_of(const std::vector<Argument>& table);

// Fails with kInvalid on the first thing that is wrong, saying what would be right. An argument
// that is null counts as absent: some clients fill in every optional one.
base::Result<Arguments> check_arguments(const std::vector<Argument>& table,
                                        const nlohmann::json& given);

// Says that what is named so has half a character, which is told of no name.
base::Error half_in_name(const std::string& what);

// Bytes that variables may take, NAME=value and a NUL each, for a session and for a run alike: a
// process that starts in a sandbox gets both in one message, in which the names of the run's stand
// once more.
inline constexpr std::size_t kEnvironmentBytesMax = 48 * 1024;
inline constexpr std::size_t kVariableNameBytesMax = 200;

// Fails with kInvalid for variables with which nothing could start, saying what would be right.
base::Status check_environment(const std::map<std::string, std::string>& env);

}  // namespace tools
