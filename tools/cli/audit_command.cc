// hutch audit: what sessions have asked of the network.
#include <poll.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "sandbox/egress/session_advice.h"
#include "sessions/network_journals.h"
#include "sessions/network_table.h"
#include "sessions/store.h"
#include "tools/cli/commands.h"
#include "tools/text_window.h"

namespace tools::cli {

using nlohmann::json;

namespace {

constexpr int kFollowPauseMs = 500;
constexpr std::int64_t kLateMost = 60'000'000;  // in numbers, which are microseconds

std::string time_of(const sandbox::NetworkRequest& request) {
  return base::to_rfc3339(request.number / 1000);
}

json as_object(const sessions::AuditedRequest& one) {
  const sandbox::NetworkRequest& request = one.request;
  json value = {{"at", time_of(request)},
                {"session_id", one.session_id},
                {"verdict", request.verdict},
                {"host", request.host},
                {"port", request.port},
                {"sent_bytes", request.sent_bytes},
                {"received_bytes", request.received_bytes},
                {"ms", request.ms}};
  if (!request.method.empty()) value["method"] = request.method;
  if (!request.path.empty()) value["path"] = request.path;
  if (request.status != 0) value["status"] = request.status;
  if (!request.reason.empty()) {
    value["reason"] =
        request.reason + (request.missing_rule.empty()
                              ? ""
                              : sandbox::egress::advice_on(one.session_id, request.missing_rule));
  }
  if (!request.credential.empty()) value["credential"] = request.credential;
  if (request.was_kept) value["from_cache"] = true;
  if (request.is_open) value["open"] = true;
  if (request.more > 0) value["more"] = request.more;
  return value;
}

std::string line_of(const sessions::AuditedRequest& one) {
  const sandbox::NetworkRequest& request = one.request;
  std::string text = time_of(request) + "  " + one.session_id + "  " + request.verdict + "  ";
  if (request.more > 0) {
    const char* const what = request.verdict == "refused" ? " more refusals" : " more requests";
    return text + std::to_string(request.more) + what;
  }
  if (!request.method.empty()) text += request.method + " ";
  text += request.host;
  if (request.port != 0) text += ":" + std::to_string(request.port);
  text += request.path;
  if (request.status != 0) text += "  " + std::to_string(request.status);
  if (request.was_kept) text += "  from the cache";
  if (!request.credential.empty()) text += "  with " + request.credential;
  if (!request.reason.empty()) text += "  " + request.reason;
  if (request.verdict == "allowed") {
    text += "  " + std::to_string(request.sent_bytes) + " bytes out, " +
            std::to_string(request.received_bytes) + " in, " + std::to_string(request.ms) + " ms" +
            (request.is_open ? " until now" : "");
  }
  return one_line(to_utf8(text));
}

void print(const sessions::AuditedRequest& one, bool as_json) {
  std::cout << (as_json ? base::print_json(as_object(one)) : line_of(one)) << "\n";
}

using Key = std::pair<std::int64_t, std::string>;

// Prints again the requests in `open` that have ended, and takes them out of it.
base::Status tell_ends(sessions::NetworkTable& network, bool as_json, std::set<Key>& open) {
  for (auto key = open.begin(); key != open.end();) {
    const auto one = TRY(network.request(key->second, key->first));
    if (one && one->request.is_open) {
      ++key;
      continue;
    }
    if (one) print(*one, as_json);
    key = open.erase(key);
  }
  return base::done();
}

base::Status tell_what_is_gone(sessions::NetworkTable& network, const AuditOptions& options) {
  const std::int64_t gone = TRY(network.requests_gone());
  if (gone > 0 && !options.as_json) {
    std::cerr << "hutch: " << gone << " older ones have made way for newer ones\n";
  }
  return base::done();
}

}  // namespace

base::Result<int> run_audit(Application& app, const AuditOptions& options) {
  sessions::RequestsWanted wanted{.session = options.session,
                                  .refused_only = options.refused_only,
                                  .after_number = 0,
                                  .limit = options.count};
  std::set<Key> told;
  std::set<Key> open;
  while (true) {
    TRY(app.services().journals.take_all());
    const auto found = TRY(app.store().network.requests(wanted));
    TRY(tell_ends(app.store().network, options.as_json, open));
    for (const sessions::AuditedRequest& one : found) {
      const Key key{one.request.number, one.session_id};
      if (!told.insert(key).second) continue;
      if (one.request.is_open) open.insert(key);
      print(one, options.as_json);
    }
    if (!options.follow) TRY(tell_what_is_gone(app.store().network, options));
    if (!std::cout.flush() || !options.follow) return 0;
    // One of several sessions may report an earlier request later: what came within kLateMost is
    // asked for again.
    while (told.size() > 1 && told.begin()->first < told.rbegin()->first - kLateMost) {
      told.erase(told.begin());
    }
    if (!told.empty()) wanted.after_number = told.begin()->first - 1;
    wanted.limit = std::max<std::int64_t>(options.count, 10'000);
    (void)::poll(nullptr, 0, kFollowPauseMs);
  }
}

}  // namespace tools::cli
