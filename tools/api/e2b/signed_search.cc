#include "tools/api/e2b/signed_search.h"

#include <cerrno>
#include <utility>

#include "sessions/session_tokens.h"
#include "tools/api/e2b/signature.h"

namespace tools::api::e2b {

using base::Error;

namespace {

constexpr std::size_t kAddressesMost = 1'000;
constexpr std::chrono::seconds kCountedFor{1};

}  // namespace

base::Result<std::string> SignedSearch::find(const Services& services,
                                             const mcp::http::Request& request) {
  const auto under_way = begin(request.peer);
  if (!under_way) {
    return base::error(Error::Kind::kLimit, "too many signatures are looked for: try again");
  }
  auto found = search(services, request);
  if (found.ok()) under_way->set_right();
  return found;
}

base::Result<std::string> SignedSearch::search(const Services& services,
                                               const mcp::http::Request& request) {
  Error failure = wrong_signature();
  for (const auto& [id, token] : TRY(services.tokens.newest(kSandboxesMost))) {
    const auto checked = check_signature(request, token);
    if (checked.ok()) return id;
    if (checked.error().os_errno == EKEYEXPIRED) failure = checked.error();
  }
  return failure;
}

// Counted before it is known what comes of it, so that many at a time are no way around.
std::unique_ptr<SignedSearch::UnderWay> SignedSearch::begin(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (failures_.size() >= kAddressesMost) {
    std::erase_if(failures_, [now](const auto& one) {
      return one.second.under_way == 0 && now - one.second.since >= kCountedFor;
    });
  }
  // A thousand addresses within a second are counted as one.
  const bool is_known = failures_.size() < kAddressesMost || failures_.contains(address);
  std::string counted_for = is_known ? address : "";
  Failures& failures = failures_[counted_for];
  if (now - failures.since >= kCountedFor) {
    failures.since = now;
    failures.count = 0;
  }
  if (failures.count >= kFailuresMost || failures.under_way >= kUnderWayMost - under_way_) {
    return nullptr;
  }
  ++failures.count;
  ++failures.under_way;
  ++under_way_;
  return std::make_unique<UnderWay>(*this, std::move(counted_for));
}

void SignedSearch::end(const std::string& counted_for, bool was_right) {
  const std::lock_guard lock(mutex_);
  --under_way_;
  Failures& failures = failures_[counted_for];  // it stays while a search of it is under way
  --failures.under_way;
  if (was_right && failures.count > 0) --failures.count;
}

}  // namespace tools::api::e2b
