#include "sessions/processor_weights.h"

#include <algorithm>
#include <chrono>

#include "sandbox/cgroup_weight.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"

namespace sessions {
namespace {

constexpr std::chrono::seconds kSetEvery{1};

}  // namespace

std::map<std::string, std::int64_t> shares_of_parts(const std::vector<WeighedSession>& sessions) {
  std::map<std::string, std::int64_t> busy;
  std::map<std::string, std::int64_t> all;
  for (const WeighedSession& session : sessions) {
    ++all[session.principal_id];
    if (session.is_busy) ++busy[session.principal_id];
  }
  std::map<std::string, std::int64_t> shares;
  for (const WeighedSession& session : sessions) {
    const std::string& who = session.principal_id;
    shares[session.id] = session.is_busy ? busy[who] : all[who];
  }
  return shares;
}

ProcessorWeights::ProcessorWeights(const std::string& state_directory, SessionTable& sessions,
                                   RunTable& runs)
    : sessions_directory_(sessions_directory(state_directory)),
      sessions_(sessions),
      runs_(runs),
      thread_([this](const std::stop_token& stop) { set_from_time_to_time(stop); }) {}

ProcessorWeights::~ProcessorWeights() = default;

void ProcessorWeights::set_from_time_to_time(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    set_all();
    (void)wakeup_.wait_for(lock, stop, kSetEvery, [] { return false; });
  }
}

std::string ProcessorWeights::principal_of(const std::string& session_id) {
  if (const auto known = principals_.find(session_id); known != principals_.end()) {
    return known->second;
  }
  const auto session = sessions_.find_of_any(session_id);
  if (!session.ok() && session.error().kind != base::Error::Kind::kNotFound) return "";
  std::string principal = session.ok() ? session.value().principal_id : "";
  if (principal != kSparePrincipal) principals_[session_id] = principal;
  return principal;
}

void ProcessorWeights::set_all() {
  const auto weights = sandbox::find_cgroup_weights(sessions_directory_);
  const auto gone = [&weights](const auto& one) { return !weights.contains(one.first); };
  std::erase_if(principals_, gone);
  std::erase_if(set_, gone);
  if (weights.empty()) return;
  const auto busy = runs_.busy_sessions();
  if (!busy.ok()) return;
  std::vector<WeighedSession> sessions;
  for (const auto& [id, weight] : weights) {
    const std::string principal = principal_of(id);
    if (principal.empty()) continue;
    sessions.push_back({id, principal, busy.value().contains(id)});
  }
  for (const auto& [id, shares] : shares_of_parts(sessions)) {
    // A session whose box has started anew has the weight of the only one.
    const auto known = set_.find(id);
    if (shares == 1 && known != set_.end() && known->second == 1) continue;
    if (weights.at(id).set(shares)) set_[id] = shares;
  }
}

}  // namespace sessions
