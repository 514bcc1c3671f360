// The configuration is read anew while hutch serve runs: what can be changed is, all at once, and
// what cannot is named.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "mcp/http/service.h"
#include "tools/cli/settings.h"

namespace sessions {
class QuotasInForce;
}  // namespace sessions

namespace tools::cli {

using Reread = std::function<base::Result<Settings>()>;

// A server that was started with `running` is reached by these names and from these pages; `read`
// has the lists of them.
mcp::http::DoorNames door_names(const ServeSettings& running, const ServeSettings& read);

// It finds what nobody else notices before it is used: kInvalid, with its place.
base::Status check_rules(const Settings& settings);

// A file differs so from what a server runs with.
struct Changes {
  std::vector<std::string> taken;    // keys whose new values hold from now on
  std::vector<std::string> waiting;  // for a restart
  std::vector<std::string> beaten;   // by a flag or a variable
};
Changes changes_between(const Settings& running, const Settings& read);

class Reload {
 public:
  Reload(const Settings& running, sessions::QuotasInForce& quotas, Reread reread)
      : running_(running), quotas_(quotas), reread_(std::move(reread)) {}

  // Sets the service whose names change; it is null from when it drains.
  void set_service(mcp::http::Service* service);
  // A single thread calls it.
  void read_anew();

 private:
  void take(const Settings& read, const Changes& changes);

  Settings running_;
  sessions::QuotasInForce& quotas_;
  const Reread reread_;
  std::mutex mutex_;
  mcp::http::Service* service_ = nullptr;
};

}  // namespace tools::cli
