#include "tools/cli/reload.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/text.h"
#include "mcp/http/listener.h"
#include "sandbox/network_rule.h"
#include "sessions/quotas_in_force.h"
#include "tools/cli/application.h"
#include "tools/cli/logging.h"
#include "tools/cli/network_sets.h"

namespace tools::cli {

using base::Error;

namespace {

// Each key that a running server can take, with the value that holds, whoever has said it.
std::map<std::string, std::string> changeable(const Settings& settings) {
  std::map<std::string, std::string> values{
      {"log_level", settings.log_level},
      {"log_format", settings.log_format},
      {"serve.allow_hosts", base::join(settings.serve.allow_hosts)},
      {"serve.allow_origins", base::join(settings.serve.allow_origins)},
      {"session.max_sessions", std::to_string(settings.sessions_max)},
      {"session.kept_sessions_max", std::to_string(settings.kept_sessions_max)},
      {"session.idle_seconds", std::to_string(settings.idle_seconds)},
      {"session.retention_seconds", std::to_string(settings.retention_seconds)}};
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    const std::string name = row.name;
    values["limits." + name] = std::to_string(settings.default_limits.*row.member);
    values["max_limits." + name] = std::to_string(settings.most_limits.*row.member);
  }
  return values;
}

// Without the port: links lead to it, so it is a name of this server.
std::string host_of_url(const std::string& url) {
  std::string host = url.substr(url.find("://") + 3);
  host.resize(std::min(host.find('/'), host.size()));
  if (!host.starts_with('[')) host.resize(std::min(host.find(':'), host.size()));
  return base::lower(host);
}

}  // namespace

mcp::http::DoorNames door_names(const ServeSettings& running, const ServeSettings& read) {
  const auto address = mcp::http::parse_address(running.listen);
  mcp::http::DoorNames names{.allow_origins = read.allow_origins, .allow_hosts = read.allow_hosts};
  if (!running.public_url.empty()) names.allow_hosts.push_back(host_of_url(running.public_url));
  // No name leads to a Unix socket, and a proxy that listens for names looks at them.
  names.any_host =
      (address && address->is_unix()) || (running.behind_proxy && read.allow_hosts.empty());
  return names;
}

base::Status check_rules(const Settings& settings) {
  // A rule's line is that of the key whose list it is in.
  const auto place = [&settings](const char* key) {
    const auto written = settings.written.find(key);
    if (written == settings.written.end()) return std::string(key) + ": ";
    return settings.config_file + ":" + std::to_string(written->second.line) + ": " + key + ": ";
  };
  const auto check = [&](const char* key, const std::vector<std::string>& rules) -> base::Status {
    for (const std::string& rule : rules) {
      if (std::string_view(key) == "network.allow" && network_set(rule)) continue;
      auto parsed = sandbox::parse_network_rule(rule);
      if (parsed.ok()) continue;
      return base::error(Error::Kind::kInvalid, place(key) + parsed.error().message);
    }
    return base::done();
  };
  TRY(check("network.allow", settings.allow));
  return check("network.private", settings.private_hosts);
}

Changes changes_between(const Settings& running, const Settings& read) {
  std::set<std::string> differ;
  for (const auto* one : {&running, &read}) {
    const auto& other = one == &running ? read.written : running.written;
    for (const auto& [key, value] : one->written) {
      const auto found = other.find(key);
      if (found == other.end() || found->second.text != value.text) differ.insert(key);
    }
  }
  const auto before = changeable(running);
  const auto after = changeable(read);
  Changes changes;
  for (const std::string& key : differ) {
    if (!before.contains(key)) {
      changes.waiting.push_back(key);
    } else if (before.at(key) == after.at(key)) {
      changes.beaten.push_back(key);
    }
  }
  // A limit that is left out may follow from another.
  for (const auto& [key, value] : after) {
    if (before.at(key) != value) changes.taken.push_back(key);
  }
  return changes;
}

void Reload::set_service(mcp::http::Service* service) {
  const std::lock_guard lock(mutex_);
  service_ = service;
}

void Reload::read_anew() {
  const auto read = reread_();
  const auto checked = read.ok() ? check_rules(read.value()) : base::Status(read.error());
  if (!checked.ok()) {
    return announce("error", "the configuration cannot be read anew, and nothing has changed: " +
                                 checked.error().message);
  }
  const Changes changes = changes_between(running_, read.value());
  take(read.value(), changes);
  announce("info",
           "the configuration was read anew; changed: " +
               (changes.taken.empty() ? std::string("nothing") : base::join(changes.taken)));
  if (!changes.beaten.empty()) {
    announce("warning",
             "these lines of the configuration change nothing, since a flag or a variable says "
             "otherwise, or since it was so before: " +
                 base::join(changes.beaten));
  }
  if (!changes.waiting.empty()) {
    announce("warning", "these lines of the configuration hold with the next start only: " +
                            base::join(changes.waiting));
  }
}

void Reload::take(const Settings& read, const Changes& changes) {
  const auto waits = [&](const std::string& key) {
    return std::find(changes.waiting.begin(), changes.waiting.end(), key) != changes.waiting.end();
  };
  {
    const std::lock_guard lock(mutex_);
    if (service_ != nullptr) service_->change_names(door_names(running_.serve, read.serve));
  }
  quotas_.change(quotas_of(read));
  change_logging(read);
  // A key that waits for a restart is told of each time.
  std::map<std::string, WrittenValue> written;
  for (const auto& [key, value] : running_.written) {
    if (waits(key)) written[key] = value;
  }
  for (const auto& [key, value] : read.written) {
    if (!waits(key)) written[key] = value;
  }
  running_.written = std::move(written);
  running_.log_level = read.log_level;
  running_.log_format = read.log_format;
  running_.serve.allow_hosts = read.serve.allow_hosts;
  running_.serve.allow_origins = read.serve.allow_origins;
  running_.sessions_max = read.sessions_max;
  running_.kept_sessions_max = read.kept_sessions_max;
  running_.idle_seconds = read.idle_seconds;
  running_.retention_seconds = read.retention_seconds;
  running_.default_limits = read.default_limits;
  running_.most_limits = read.most_limits;
}

}  // namespace tools::cli
