#include "tools/cli/settings.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "sandbox/host_limits.h"
#include "tools/cli/config_file.h"

namespace tools::cli {

using base::Error;

namespace {

constexpr const char* kMachineConfig = "/etc/hutch/config.toml";
constexpr std::int64_t kUsualMemoryLeastMb = 256;
constexpr std::array kLogLevels{"trace", "debug", "info", "warning", "error"};

std::string first_of(std::initializer_list<std::string> choices) {
  for (const std::string& choice : choices) {
    if (!choice.empty()) return choice;
  }
  return "";
}

base::Result<std::string> home_of(const Environment& environment) {
  const std::string home = environment("HOME");
  if (!home.empty()) return home;
  return base::error(Error::Kind::kInvalid,
                     "HOME is not set: name a directory with --state-dir or HUTCH_STATE_DIR");
}

// As a shell would; files written by hand have it.
base::Result<std::string> expand(const std::string& path, const Environment& environment) {
  if (path != "~" && !path.starts_with("~/")) return path;
  const std::string home = TRY(home_of(environment));
  return home + path.substr(1);
}

base::Result<std::string> default_state_directory(const Environment& environment) {
  const std::string xdg = environment("XDG_STATE_HOME");
  if (!xdg.empty()) return xdg + "/hutch";
  const std::string home = TRY(home_of(environment));
  return home + "/.local/state/hutch";
}

std::string default_environments_directory(const Environment& environment) {
  const std::string xdg = environment("XDG_DATA_HOME");
  if (!xdg.empty()) return xdg + "/hutch/environments";
  // A service without a home has none but those that its configuration names.
  const std::string home = environment("HOME");
  return (home.empty() ? "/var/lib/hutch" : home + "/.local/share/hutch") + "/environments";
}

base::Result<std::string> absolute(const std::string& path, const char* what) {
  if (path.starts_with('/')) return path;
  std::error_code failure;
  const auto whole = std::filesystem::absolute(path, failure);
  if (!failure) return whole.string();
  return base::error(Error::Kind::kInvalid,
                     std::string(what) + " must be absolute: " + failure.message());
}

std::string without_last_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// `settings` has what the configuration file said.
base::Status resolve_share_directory(const Flags& flags, const Environment& environment,
                                     Settings& settings) {
  const std::string variable = environment("HUTCH_SHARE_DIR");
  std::optional<std::string> wanted = settings.share_directory;
  if (!variable.empty()) wanted = variable;
  if (flags.share_directory) wanted = flags.share_directory;
  settings.share_directory = wanted.value_or("~/hutch");
  if (*settings.share_directory == "none") settings.share_directory = "";
  if (settings.share_directory->empty()) return base::done();
  if (settings.share_directory->starts_with("~/") && environment("HOME").empty()) {
    settings.share_directory = std::nullopt;
    return base::done();
  }
  const std::string path = TRY(expand(*settings.share_directory, environment));
  settings.share_directory = without_last_slashes(TRY(absolute(path, "the share directory")));
  return base::done();
}

base::Status check_logging(const Settings& settings) {
  bool known = false;
  for (const char* level : kLogLevels) known = known || settings.log_level == level;
  if (!known) {
    return base::error(Error::Kind::kInvalid,
                       place_of(settings, "log_level", settings.log_level) +
                           "log level must be trace, debug, info, warning or error");
  }
  if (settings.log_format != "text" && settings.log_format != "json") {
    return base::error(
        Error::Kind::kInvalid,
        place_of(settings, "log_format", settings.log_format) + "log format must be text or json");
  }
  return base::done();
}

// Links begin with it.
base::Status check_public_url(std::string& url) {
  url = without_last_slashes(url);
  const bool is_http = url.starts_with("http://") || url.starts_with("https://");
  const bool has_host = url.find_first_not_of('/', url.find(':') + 1) != std::string::npos;
  const bool is_plain = url.find_first_of(" \t\r\n?#\"<>") == std::string::npos;
  if (url.empty() || (is_http && has_host && is_plain)) return base::done();
  return base::error(
      Error::Kind::kInvalid,
      "public_url must be an address like https://hutch.example.org, not \"" + url + "\"");
}

base::Status resolve_serve(const Flags& flags, const Environment& environment,
                           ServeSettings& serve) {
  serve.listen = first_of({flags.listen, environment("HUTCH_LISTEN"), serve.listen});
  const auto origins = base::words_of(environment("HUTCH_ALLOW_ORIGINS"), ',');
  if (!origins.empty()) serve.allow_origins = origins;
  if (!flags.allow_origins.empty()) serve.allow_origins = flags.allow_origins;
  const auto hosts = base::words_of(environment("HUTCH_ALLOW_HOSTS"), ',');
  if (!hosts.empty()) serve.allow_hosts = hosts;
  if (!flags.allow_hosts.empty()) serve.allow_hosts = flags.allow_hosts;
  const std::string behind = environment("HUTCH_BEHIND_PROXY");
  if (!behind.empty() && behind != "0" && behind != "1") {
    return base::error(Error::Kind::kInvalid, "HUTCH_BEHIND_PROXY must be 0 or 1");
  }
  if (!behind.empty()) serve.behind_proxy = behind == "1";
  serve.behind_proxy = serve.behind_proxy || flags.behind_proxy;
  serve.store_at_end = serve.store_at_end || flags.store_at_end;
  serve.public_url =
      first_of({flags.public_url, environment("HUTCH_PUBLIC_URL"), serve.public_url});
  return check_public_url(serve.public_url);
}

// Puts the folders of the command line first, in the place of those that have the same name in the
// file. Fails with kInvalid where one cannot be used.
base::Status resolve_mounts(const Flags& flags, const Environment& environment,
                            std::vector<sandbox::HostFolder>& mounts) {
  std::vector<sandbox::HostFolder> all;
  for (const std::string& text : flags.mounts) {
    auto folder = sandbox::parse_folder(text);
    if (!folder.ok()) return std::move(folder).error().context("--mount " + text);
    // No shell has done it where a client's configuration lists the arguments.
    folder.value().path = TRY(expand(folder.value().path, environment));
    all.push_back(std::move(folder).value());
  }
  const std::size_t named = all.size();
  for (sandbox::HostFolder& folder : mounts) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(named);
    if (std::any_of(all.begin(), end, [&](const auto& f) { return f.name == folder.name; })) {
      continue;
    }
    folder.path = TRY(expand(folder.path, environment));
    if (!folder.path.starts_with('/')) {
      return base::error(Error::Kind::kInvalid,
                         "[mounts] " + folder.name + ": the path must begin with / or ~/");
    }
    all.push_back(std::move(folder));
  }
  mounts = std::move(all);
  return base::done();
}

sandbox::HostPlaces never_mounted(const Environment& environment, const Settings& settings,
                                  const std::string& config_file) {
  sandbox::HostPlaces places = sandbox::system_places();
  for (const char* variable : {"XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"}) {
    const std::string path = environment(variable);
    const bool ours = std::string_view(variable) != "XDG_RUNTIME_DIR";
    if (path.starts_with('/')) places.never.push_back(ours ? path + "/hutch" : path);
  }
  places.never.push_back(settings.state_directory);
  if (config_file.starts_with('/')) places.never.push_back(config_file);
  // Code that can put a link in its place would choose where shared files go.
  const std::string shares = settings.share_directory.value_or("");
  if (!shares.empty()) places.never_writable.push_back(shares);
  // Programs of the user may be started with another HOME than the user's own.
  const passwd* const user = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): one thread
  for (const std::string& home :
       {environment("HOME"), std::string(user != nullptr ? user->pw_dir : "")}) {
    if (home.starts_with('/')) sandbox::add_home(places, home);
  }
  sandbox::add_other_homes(places, "/etc/passwd");
  const auto programs = base::executable_directory();
  if (programs.ok()) {
    places.never_writable.push_back(programs.value());
    places.never_writable.push_back(programs.value().substr(0, programs.value().rfind('/')) +
                                    "/share/hutch");
  }
  return places;
}

// A configuration may be written for larger hosts.
void hold_within_host(Settings& settings) {
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    for (sandbox::Limits* limits : {&settings.default_limits, &settings.most_limits}) {
      limits->*row.member = std::min(limits->*row.member, sandbox::most_of_host(row));
    }
  }
}

// Keeps the default limits within the most that a session may ask for. A value that the
// configuration leaves out gives way to the one that it has; fails with kInvalid where it has both.
base::Status reconcile_limits(const sandbox::Limits& widest, Settings& settings) {
  sandbox::Limits usual;
  usual.memory_mb = usual_memory_mb();
  for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
    std::int64_t& limit = settings.default_limits.*row.member;
    std::int64_t& most = settings.most_limits.*row.member;
    if (limit <= most) continue;
    if (limit == usual.*row.member) {
      limit = most;
    } else if (most == widest.*row.member) {
      most = limit;
    } else {
      return base::error(
          Error::Kind::kInvalid,
          place_of(settings, std::string("limits.") + row.name, std::to_string(limit)) +
              "the configuration has limits." + std::string(row.name) + " = " +
              std::to_string(limit) + ", but max_limits." + row.name + " = " +
              std::to_string(most));
    }
  }
  return base::done();
}

base::Status resolve_spares(const std::string& text, std::int64_t& spares) {
  if (text.empty()) return base::done();
  const auto number = base::number_of<std::int64_t>(text);
  if (!number || *number < 0 || *number > kSpareSessionsMax) {
    return base::error(Error::Kind::kInvalid, "HUTCH_SPARE_SESSIONS must be from 0 to " +
                                                  std::to_string(kSpareSessionsMax));
  }
  spares = *number;
  return base::done();
}

base::Status resolve_template(const Environment& environment, Settings& settings) {
  std::string directory =
      first_of({environment("HUTCH_ENVIRONMENTS_DIR"), settings.environments_directory});
  if (directory.empty()) directory = default_environments_directory(environment);
  directory = TRY(expand(directory, environment));
  settings.environments_directory =
      without_last_slashes(TRY(absolute(directory, "the directory of environments")));
  settings.template_name = first_of({environment("HUTCH_TEMPLATE"), settings.template_name});
  return base::done();
}

// Returns whether there is something at the path, or nobody can tell.
bool may_be_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

// The user's own, else that of the machine.
std::string usual_config_file(const Environment& environment) {
  const std::string config = environment("XDG_CONFIG_HOME");
  const std::string own =
      (config.empty() ? environment("HOME") + "/.config" : config) + "/hutch/config.toml";
  return may_be_there(own) ? own : kMachineConfig;
}

}  // namespace

std::string place_of(const Settings& settings, const std::string& key, const std::string& value) {
  const auto written = settings.written.find(key);
  if (written == settings.written.end() || written->second.text != value) return "";
  return settings.config_file + ":" + std::to_string(written->second.line) + ": ";
}

std::int64_t usual_memory_mb() {
  const std::int64_t usual = sandbox::Limits().memory_mb;
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return usual;
  const auto half = static_cast<std::int64_t>((info.totalram / 2 * info.mem_unit) >> 20);
  return std::clamp(half, kUsualMemoryLeastMb, usual);
}

Environment process_environment() {
  return [](const char* name) {
    const char* value = ::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets any
    return std::string(value != nullptr ? value : "");
  };
}

base::Result<Settings> resolve_settings(const Flags& flags, const Environment& environment) {
  Settings settings;
  settings.most_limits = sandbox::widest_limits();
  settings.default_limits.memory_mb = usual_memory_mb();
  settings.most_limits.memory_mb = 16384;
  settings.most_limits.cpus = 64;
  const sandbox::Limits widest = settings.most_limits;
  settings.log_level = first_of({environment("HUTCH_DEFAULT_LOG_LEVEL"), settings.log_level});
  std::string file = first_of({flags.config_file, environment("HUTCH_CONFIG")});
  const bool named = !file.empty();
  if (named) file = TRY(absolute(file, "the configuration"));
  if (!named) file = usual_config_file(environment);
  // The default one need not be there; one that is there and cannot be read is told of.
  if (named || may_be_there(file)) {
    TRY(read_config_file(file, settings));
    TRY(reconcile_limits(widest, settings));
  }
  hold_within_host(settings);
  settings.log_level =
      first_of({flags.log_level, environment("HUTCH_LOG_LEVEL"), settings.log_level});
  settings.log_format =
      first_of({flags.log_format, environment("HUTCH_LOG_FORMAT"), settings.log_format});
  TRY(check_logging(settings));
  const std::string zygote = environment("HUTCH_ZYGOTE");
  if (!zygote.empty() && zygote != "0" && zygote != "1") {
    return base::error(Error::Kind::kInvalid, "HUTCH_ZYGOTE must be 0 or 1");
  }
  if (!zygote.empty()) settings.zygote = zygote == "1";
  TRY(resolve_spares(environment("HUTCH_SPARE_SESSIONS"), settings.spare_sessions));
  TRY(resolve_serve(flags, environment, settings.serve));
  TRY(resolve_share_directory(flags, environment, settings));
  std::string state =
      first_of({flags.state_directory, environment("HUTCH_STATE_DIR"), settings.state_directory});
  if (state.empty()) state = TRY(default_state_directory(environment));
  state = TRY(expand(state, environment));
  state = without_last_slashes(TRY(absolute(state, "the state directory")));
  settings.state_directory = state;
  settings.zygote_directory = state + "/zygote";
  TRY(resolve_template(environment, settings));
  TRY(resolve_mounts(flags, environment, settings.mounts));
  const auto allow = base::words_of(environment("HUTCH_ALLOW"), ',');
  if (!allow.empty()) settings.allow = allow;
  if (!flags.allow.empty()) settings.allow = flags.allow;
  if (flags.packages) settings.allow.emplace_back("packages");
  if (!flags.credentials.empty()) settings.credentials = flags.credentials;
  // It looks into all homes, which costs time and may have the host mount some.
  if (!settings.mounts.empty()) {
    settings.never_mounted = never_mounted(environment, settings, file);
  }
  return settings;
}

}  // namespace tools::cli
