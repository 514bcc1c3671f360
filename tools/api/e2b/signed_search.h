// Finds the sandbox that a signed URL of a file is for and does not name: one below
// E2B_SANDBOX_URL, where the host is the same for all.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "mcp/http/message.h"
#include "tools/tools.h"

namespace tools::api::e2b {

// Safe from any thread.
class SignedSearch {
 public:
  static constexpr std::int64_t kSandboxesMost = 1'000;  // the newest used ones
  static constexpr int kFailuresMost = 10;               // in a second, of one address
  static constexpr int kUnderWayMost = 8;                // at a time, each of some milliseconds

  // The id of the session whose signature the request has. The error of check_signature() where
  // there is none; kLimit: this address has failed too often just now, or others are searched for.
  base::Result<std::string> find(const Services& services, const mcp::http::Request& request);

 private:
  using Clock = std::chrono::steady_clock;
  struct Failures {
    Clock::time_point since;
    int count = 0;
  };

  static base::Result<std::string> search(const Services& services,
                                          const mcp::http::Request& request);
  // Whom it is counted for; nothing: it is not to be.
  [[nodiscard]] std::optional<std::string> begin(const std::string& address);
  void end(const std::string& counted_for, bool was_right);

  // Takes its place among those under way until it ends, however it does.
  class UnderWay {
   public:
    UnderWay(SignedSearch& search, std::string counted_for)
        : search_(search), counted_for_(std::move(counted_for)) {}
    ~UnderWay() { search_.end(counted_for_, was_right_); }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

    void set_right() { was_right_ = true; }

   private:
    SignedSearch& search_;
    std::string counted_for_;
    bool was_right_ = false;
  };

  std::mutex mutex_;
  std::map<std::string, Failures> failures_;
  int under_way_ = 0;
};

}  // namespace tools::api::e2b
