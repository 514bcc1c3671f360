// All sessions at the door share one Resources.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "sandbox/egress/downloads.h"
#include "sandbox/egress/leaf_certificates.h"
#include "sandbox/egress/lookups.h"
#include "sandbox/egress/places.h"
#include "sandbox/egress/principal_share.h"

namespace sandbox::egress {

struct Resources {
  Resources(std::size_t connections_most, Downloads kept)
      : places(connections_most), downloads(std::move(kept)) {}

  // Returns the share of a principal, which is the same for all its sessions while one of them is
  // here.
  std::shared_ptr<PrincipalShare> share_of(asio::io_context& context, const NetworkQuota& quota) {
    std::erase_if(shares, [](const auto& entry) { return entry.second.expired(); });
    auto share = shares[quota.principal_id].lock();
    if (!share) share = std::make_shared<PrincipalShare>(context, quota, day_of(quota));
    shares[quota.principal_id] = share;
    return share;
  }

  // Returns the day's meter of a principal. It stays when none of the principal's sessions is here
  // any more: what their boxes have told may not be in the database when the next one begins.
  std::shared_ptr<DailyMeter> day_of(const NetworkQuota& quota) {
    std::erase_if(days, [](const auto& entry) {
      return entry.second.use_count() == 1 && !entry.second->counts_today();
    });
    auto& day = days[quota.principal_id];
    if (!day) day = std::make_shared<DailyMeter>(&utc_day_now);
    return day;
  }

  asio::thread_pool lookup_threads{Lookups::kThreads};
  std::shared_ptr<LookupTurns> lookup_turns = std::make_shared<LookupTurns>(Lookups::kThreads);
  Places places;
  Downloads downloads;
  std::map<std::string, std::weak_ptr<PrincipalShare>> shares;  // by its id, as the next one
  std::map<std::string, std::shared_ptr<DailyMeter>> days;
  // Their contents are the keys: servers whose sessions come here have one, as a rule.
  std::map<std::string, std::shared_ptr<LeafCertificates>> authorities;
  std::map<std::string, std::shared_ptr<asio::ssl::context>> roots;
};

}  // namespace sandbox::egress
