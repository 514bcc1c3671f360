#include "tools/rest/e2b/signed_search.h"

#include <cerrno>

#include "tools/rest/e2b/signature.h"

namespace tools::rest::e2b {

using base::Error;

namespace {

constexpr std::size_t kAddressesMost = 1'000;
constexpr std::chrono::seconds kCountedFor{1};

}  // namespace

base::Result<std::string> SignedSearch::find(const Services& services,
                                             const mcp::http::Request& request) {
  if (has_failed_often(request.peer)) {
    return base::error(Error::Kind::kLimit, "too many wrong signatures: try again in a second");
  }
  Error failure = wrong_signature();
  for (const std::string& id :
       TRY(services.sessions.store().newest_used_sessions(kSandboxesMost))) {
    const auto token = services.sessions.access_token_of(id);
    if (!token.ok()) continue;
    const auto checked = check_signature(request, token.value());
    if (checked.ok()) return id;
    if (checked.error().os_errno == EKEYEXPIRED) failure = checked.error();
  }
  note_failure(request.peer);
  return failure;
}

bool SignedSearch::has_failed_often(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = failures_.find(address);
  return found != failures_.end() && found->second.count >= kFailuresMost &&
         Clock::now() - found->second.since < kCountedFor;
}

void SignedSearch::note_failure(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  if (failures_.size() >= kAddressesMost) {
    std::erase_if(failures_,
                  [now](const auto& one) { return now - one.second.since >= kCountedFor; });
  }
  if (failures_.size() >= kAddressesMost) failures_.clear();  // a thousand addresses in a second
  Failures& failures = failures_[address];
  if (now - failures.since >= kCountedFor) failures = {now, 0};
  ++failures.count;
}

}  // namespace tools::rest::e2b
