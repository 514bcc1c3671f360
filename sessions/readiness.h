// It tells whether this server can do what it is for, by what has happened to those who asked, and
// tries nothing itself. Many threads may use it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

namespace sessions {

// A try has ended in one of these ways, as far as that tells something of this host.
enum class Outcome {
  kDone,
  kCallersFault,  // the caller asked for something that cannot be
  kHostsFault,
  kFullDisk,  // reading and deleting go on
};
// Kinds of Error are judged here alone.
Outcome outcome_of(const base::Error& failure);

class Readiness {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  explicit Readiness(Now now = Clock::now) : now_(std::move(now)) {}

  // A box was started for a session of this principal; null: it has come up.
  void started(const std::string& principal_id, const base::Error* failure);
  // The database was asked to change something, since then; null: it has.
  void wrote(Clock::time_point begun, const base::Error* failure);

  struct State {
    std::string trouble;  // why nothing more is to be sent here; empty: it is ready
    bool disk_is_full = false;
  };
  [[nodiscard]] State look();

 private:
  // A try of longer ago says nothing of now.
  static constexpr std::chrono::seconds kMemory{60};
  static constexpr std::chrono::seconds kUnwritten{10};

  struct Starts {
    Clock::time_point tried;
    std::optional<Clock::time_point> failed;  // by the host's fault
  };

  [[nodiscard]] bool is_recent(const std::optional<Clock::time_point>& at) const;
  void forget();
  [[nodiscard]] bool starts_fail() const;
  [[nodiscard]] bool database_fails() const;

  const Now now_;
  std::mutex mutex_;
  std::map<std::string, Starts> starts_;            // by principal, for all who have tried lately
  std::optional<Clock::time_point> last_start_;     // that succeeded
  std::optional<Clock::time_point> failing_since_;  // the database, without a success since
  std::optional<Clock::time_point> last_failure_;
  std::optional<Clock::time_point> full_for_starts_;
  std::optional<Clock::time_point> full_for_database_;
};

}  // namespace sessions
