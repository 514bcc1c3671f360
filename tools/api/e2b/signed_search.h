// Finds the sandbox that a signed URL of a file is for and does not name: one below
// E2B_SANDBOX_URL, where the host is the same for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "mcp/http/message.h"
#include "tools/tools.h"

namespace tools::api::e2b {

// It is safe from any thread.
class SignedSearch {
 public:
  static constexpr std::int64_t kSandboxesMost = 1'000;  // the newest used ones
  static constexpr int kFailuresMost = 10;               // in a second, of one address
  // So many are under way at a time, each of some milliseconds. No address has more of them than
  // are left for others.
  static constexpr int kUnderWayMost = 8;

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

  // Returns the id of the session whose signature the request has. Fails as check_signature() does
  // where there is none; kLimit: begin() has no place for its address.
  base::Result<std::string> find(const Services& services, const mcp::http::Request& request);

  // Returns a place for a search of this address; null: it has failed too often just now, or has
  // too many under way, or others have all places.
  std::unique_ptr<UnderWay> begin(const std::string& address);

 private:
  using Clock = std::chrono::steady_clock;
  struct Failures {
    Clock::time_point since;
    int count = 0;
    int under_way = 0;
  };

  static base::Result<std::string> search(const Services& services,
                                          const mcp::http::Request& request);
  void end(const std::string& counted_for, bool was_right);

  std::mutex mutex_;
  std::map<std::string, Failures> failures_;
  int under_way_ = 0;
};

}  // namespace tools::api::e2b
