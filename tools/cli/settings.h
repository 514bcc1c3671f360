// Holds what hutch was told: flags beat HUTCH_* environment variables, which beat the configuration
// file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/host_folder.h"
#include "sandbox/host_places.h"
#include "sandbox/limits.h"
#include "sandbox/network_quota.h"
#include "sessions/manager_config.h"

namespace tools::cli {

// Holds the settings of hutch serve.
struct ServeSettings {
  std::string listen = "127.0.0.1:8931";  // or unix:/path
  std::vector<std::string> allow_origins;
  std::vector<std::string> allow_hosts;
  bool behind_proxy = false;
  bool public_ports = false;  // anybody reaches sandboxes that E2B's SDKs make
  // People and programs elsewhere reach this server at this URL, which has no "/" at its end.
  // Empty: on a loopback address that address is used.
  std::string public_url;
  std::int64_t drain_seconds = 10;
  // Processes of sessions end with this server, as a service manager or a container ends them: what
  // the sessions know is stored before.
  bool store_at_end = false;
  // These limit each principal, but for the user's own, local:
  std::int64_t calls_at_work = 0;  // 0: eight for each processor, half of one beside others
  std::int64_t calls_waiting = 1000;
  std::int64_t calls_per_minute = 0;  // 0: as many as come

  friend bool operator==(const ServeSettings&, const ServeSettings&) = default;
};

// OauthSettings are [oauth] of the configuration file, as it was written there.
struct OauthSettings {
  std::string issuer;
  std::string resource;
  std::string jwks_uri;  // one of the two
  std::string jwks_file;
  std::vector<std::string> scopes;
  std::vector<std::string> change_scopes;
  std::vector<std::string> metrics_scopes;
  std::vector<std::string> algorithms = {"RS256", "ES256", "EdDSA"};

  friend bool operator==(const OauthSettings&, const OauthSettings&) = default;
};

inline constexpr std::int64_t kSpareSessionsMax = 100;

// It says that the configuration said nothing: each command has its own.
inline constexpr std::int64_t kDetachUnset = -1;

// A value of the configuration file is kept as it stands there.
struct WrittenValue {
  std::string text;
  std::int64_t line = 0;

  friend bool operator==(const WrittenValue&, const WrittenValue&) = default;
};

struct Settings {
  std::string config_file;                      // that was read; empty: none
  std::map<std::string, WrittenValue> written;  // in it, by key: "serve.listen"
  std::string state_directory;
  std::string zygote_directory;  // in the state directory
  std::string environments_directory;
  std::string template_name;  // where none is asked for; empty: see sandbox/environment.h
  // `hutch stdio` puts here what is shared; empty: nowhere; absent: nowhere, since HOME is not set.
  std::optional<std::string> share_directory;
  unsigned user_umask = 022;  // the caller's, for files made in their directories
  std::string log_level = "warning";
  std::string log_format = "text";
  std::int64_t idle_seconds = 600;
  std::int64_t retention_seconds = 7 * 86400;
  std::int64_t paused_max_seconds = 86400;
  std::int64_t autosave_mb = 256;
  sessions::Retention retention;
  std::int64_t sessions_max = 1000;
  std::int64_t kept_sessions_max = 10'000;
  std::int64_t detach_seconds = kDetachUnset;
  std::int64_t spare_sessions = 1;
  bool zygote = true;              // Python is forked from a warmed one
  bool serves = false;             // the command is one that sessions are made with again and again
  bool clients_come_back = false;  // after a restart: those of hutch serve
  ServeSettings serve;
  sandbox::Limits default_limits;
  sandbox::Limits most_limits;
  std::vector<sandbox::HostFolder> mounts;  // as they were named; checked by those who grant them
  sandbox::HostPlaces never_mounted;
  std::vector<std::string> credentials;  // names of those that sessions may use
  std::vector<std::string> allow;        // hosts that sessions may reach, and names of sets of them
  std::vector<std::string> private_hosts;  // hosts among them that may have private addresses
  std::optional<std::string> proxy;        // absent: as the variables have it; empty: none
  std::vector<std::string> no_proxy;
  std::int64_t session_mb = 0;          // that one session may send and receive; 0: no limit
  std::int64_t principal_daily_mb = 0;  // all sessions of a principal, in a day; 0: no limit
  sandbox::NetworkQuota network_quota;
  std::int64_t downloads_mb = 2048;              // packages, kept for all sessions
  std::map<std::string, std::string> addresses;  // by host, where no name service has it
  enum class Mounting { kNone, kAll, kAsked };   // how much this command's sessions get
  Mounting mounting = Mounting::kNone;
  std::optional<OauthSettings> oauth;  // absent: tokens of hutch token create only

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Holds what the command line said. An empty or absent member means that it said nothing.
struct Flags {
  std::string config_file;
  std::string state_directory;
  std::optional<std::string> share_directory;
  std::string log_level;
  std::string log_format;
  std::string listen;
  std::vector<std::string> allow_origins;
  std::vector<std::string> allow_hosts;
  bool behind_proxy = false;
  bool store_at_end = false;
  std::string public_url;
  std::vector<std::string> mounts;
  std::vector<std::string> allow;
  bool packages = false;
  std::vector<std::string> credentials;
};

// Returns memory_mb of a session that asks for nothing, where the configuration does not say: no
// more than half of what this machine has, for a program that takes all of its session's to leave
// the rest.
std::int64_t usual_memory_mb();

// Reads a variable of the environment; empty when it is not set.
using Environment = std::function<std::string(const char* name)>;
Environment process_environment();

// Fails with kInvalid, which names the flag, variable or line of the file that is wrong.
base::Result<Settings> resolve_settings(const Flags& flags, const Environment& environment);

// It is like "/etc/hutch/config.toml:3: " where that line has given the key this value, else empty.
std::string place_of(const Settings& settings, const std::string& key, const std::string& value);

// Makes both directories, ours alone.
base::Status make_directories(const Settings& settings);

}  // namespace tools::cli
