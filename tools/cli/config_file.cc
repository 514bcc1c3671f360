#include "tools/cli/config_file.h"

#include <fcntl.h>

#include <cstring>
#include <limits>
#include <sstream>

#include <toml++/toml.h>

#include "base/fd.h"

namespace tools::cli {

using base::Error;

namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

base::Error wrong(const std::string& path, const toml::node& node, const std::string& what) {
  return base::error(Error::Kind::kInvalid,
                     path + ":" + std::to_string(node.source().begin.line) + ": " + what);
}

base::Status take_text(const std::string& path, const toml::node& node, const std::string& key,
                       std::string& target) {
  const auto value = node.value<std::string>();
  if (!value) return wrong(path, node, key + " must be a string");
  target = *value;
  return base::done();
}

base::Status take_texts(const std::string& path, const toml::node& node, const std::string& key,
                        std::vector<std::string>& target) {
  if (!node.is_array()) return wrong(path, node, key + " must be an array of strings");
  target.clear();
  for (const toml::node& entry : *node.as_array()) {
    TRY(take_text(path, entry, "each of " + key, target.emplace_back()));
  }
  return base::done();
}

base::Status take_number(const std::string& path, const toml::node& node, const std::string& key,
                         std::int64_t least, std::int64_t most, std::int64_t& target) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < least || *value > most) {
    return wrong(path, node,
                 key + " must be a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most));
  }
  target = *value;
  return base::done();
}

base::Status take_switch(const std::string& path, const toml::node& node, const std::string& key,
                         bool& target) {
  if (!node.is_boolean()) return wrong(path, node, key + " must be true or false");
  target = node.as_boolean()->get();
  return base::done();
}

base::Status take_limits(const std::string& path, const toml::node& node, const std::string& name,
                         sandbox::Limits& limits) {
  if (!node.is_table()) return wrong(path, node, name + " must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    bool known = false;
    for (const sandbox::LimitRow& row : sandbox::kLimitRows) {
      if (std::string_view(key) != row.name) continue;
      known = true;
      TRY(take_number(path, entry, row.name, row.least, row.most, limits.*row.member));
    }
    if (!known) return wrong(path, entry, "unknown limit " + std::string(key.str()));
  }
  return base::done();
}

base::Status take_session(const std::string& path, const toml::node& node, Settings& settings) {
  constexpr std::int64_t kYear = 366LL * 86400;
  if (!node.is_table()) return wrong(path, node, "session must be a table");
  bool autosaves = true;
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name == "template") {
      TRY(take_text(path, entry, name, settings.template_name));
    } else if (name == "idle_seconds") {
      TRY(take_number(path, entry, name, 1, kYear, settings.idle_seconds));
    } else if (name == "paused_max_seconds") {
      TRY(take_number(path, entry, name, 1, kYear, settings.paused_max_seconds));
    } else if (name == "autosave_mb") {
      TRY(take_number(path, entry, name, 0, 1 << 20, settings.autosave_mb));
    } else if (name == "autosave") {
      TRY(take_switch(path, entry, name, autosaves));
    } else if (name == "retention_seconds") {
      TRY(take_number(path, entry, name, 60, 100 * kYear, settings.retention_seconds));
    } else if (name == "max_sessions") {
      TRY(take_number(path, entry, name, 1, 100'000, settings.sessions_max));
    } else if (name == "kept_sessions_max") {
      TRY(take_number(path, entry, name, 1, 1'000'000, settings.kept_sessions_max));
    } else if (name == "spare_sessions") {
      TRY(take_number(path, entry, name, 0, kSpareSessionsMax, settings.spare_sessions));
    } else if (name == "detach_seconds") {
      TRY(take_number(path, entry, name, 0, 86400, settings.detach_seconds));
    } else {
      return wrong(path, entry, "unknown key session." + name);
    }
  }
  if (!autosaves) settings.autosave_mb = 0;
  return base::done();
}

base::Status take_retention(const std::string& path, const toml::node& node,
                            sessions::Retention& retention) {
  constexpr std::int64_t kDaysMost = 36'500;
  if (!node.is_table()) return wrong(path, node, "retention must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name == "runs_days") {
      TRY(take_number(path, entry, name, 1, kDaysMost, retention.runs_days));
    } else if (name == "runs_mb") {
      TRY(take_number(path, entry, name, 1, 1LL << 40, retention.runs_mb));
    } else if (name == "deleted_days") {
      TRY(take_number(path, entry, name, 1, kDaysMost, retention.deleted_days));
    } else if (name == "deleted_sessions") {
      TRY(take_number(path, entry, name, 0, 1LL << 40, retention.deleted_sessions));
    } else {
      return wrong(path, entry, "unknown key retention." + name);
    }
  }
  return base::done();
}

base::Status take_serve(const std::string& path, const toml::node& node, ServeSettings& serve) {
  constexpr std::int64_t kCallsMax = 10'000;
  if (!node.is_table()) return wrong(path, node, "serve must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name == "listen") {
      TRY(take_text(path, entry, name, serve.listen));
    } else if (name == "allow_origins") {
      TRY(take_texts(path, entry, name, serve.allow_origins));
    } else if (name == "allow_hosts") {
      TRY(take_texts(path, entry, name, serve.allow_hosts));
    } else if (name == "behind_proxy") {
      TRY(take_switch(path, entry, name, serve.behind_proxy));
    } else if (name == "public_url") {
      TRY(take_text(path, entry, name, serve.public_url));
    } else if (name == "drain_seconds") {
      TRY(take_number(path, entry, name, 0, 3600, serve.drain_seconds));
    } else if (name == "store_at_end") {
      TRY(take_switch(path, entry, name, serve.store_at_end));
    } else if (name == "calls_at_work") {
      TRY(take_number(path, entry, name, 0, kCallsMax, serve.calls_at_work));
    } else if (name == "calls_waiting") {
      TRY(take_number(path, entry, name, 0, kCallsMax, serve.calls_waiting));
    } else if (name == "calls_per_minute") {
      TRY(take_number(path, entry, name, 0, 1'000'000, serve.calls_per_minute));
    } else {
      return wrong(path, entry, "unknown key serve." + name);
    }
  }
  return base::done();
}

base::Status take_e2b(const std::string& path, const toml::node& node, ServeSettings& serve) {
  if (!node.is_table()) return wrong(path, node, "e2b must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name != "public_ports") return wrong(path, entry, "unknown key e2b." + name);
    TRY(take_switch(path, entry, name, serve.public_ports));
  }
  return base::done();
}

base::Status take_oauth(const std::string& path, const toml::node& node, OauthSettings& oauth) {
  if (!node.is_table()) return wrong(path, node, "oauth must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name == "issuer") {
      TRY(take_text(path, entry, name, oauth.issuer));
    } else if (name == "resource") {
      TRY(take_text(path, entry, name, oauth.resource));
    } else if (name == "jwks_uri") {
      TRY(take_text(path, entry, name, oauth.jwks_uri));
    } else if (name == "jwks_file") {
      TRY(take_text(path, entry, name, oauth.jwks_file));
    } else if (name == "scopes") {
      TRY(take_texts(path, entry, name, oauth.scopes));
    } else if (name == "change_scopes") {
      TRY(take_texts(path, entry, name, oauth.change_scopes));
    } else if (name == "metrics_scopes") {
      TRY(take_texts(path, entry, name, oauth.metrics_scopes));
    } else if (name == "algorithms") {
      TRY(take_texts(path, entry, name, oauth.algorithms));
    } else {
      return wrong(path, entry, "unknown key oauth." + name);
    }
  }
  return base::done();
}

base::Status take_network(const std::string& path, const toml::node& node, Settings& settings) {
  if (!node.is_table()) return wrong(path, node, "network must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    if (name == "allow") {
      TRY(take_texts(path, entry, name, settings.allow));
    } else if (name == "credentials") {
      TRY(take_texts(path, entry, name, settings.credentials));
    } else if (name == "private") {
      TRY(take_texts(path, entry, name, settings.private_hosts));
    } else if (name == "proxy") {
      TRY(take_text(path, entry, name, settings.proxy.emplace()));
    } else if (name == "no_proxy") {
      TRY(take_texts(path, entry, name, settings.no_proxy));
    } else if (name == "session_mb") {
      TRY(take_number(path, entry, name, 0, 1LL << 40, settings.session_mb));
    } else if (name == "principal_daily_mb") {
      TRY(take_number(path, entry, name, 0, 1LL << 40, settings.principal_daily_mb));
    } else if (name == "requests_per_second") {
      TRY(take_number(path, entry, name, 1, 1'000'000, settings.network_quota.requests_per_second));
    } else if (name == "connections") {
      TRY(take_number(path, entry, name, 1, 100'000, settings.network_quota.connections));
    } else if (name == "principal_requests_per_second") {
      TRY(take_number(path, entry, name, 1, 1'000'000,
                      settings.network_quota.principal_requests_per_second));
    } else if (name == "principal_connections") {
      TRY(take_number(path, entry, name, 1, 100'000, settings.network_quota.principal_connections));
    } else if (name == "downloads_mb") {
      TRY(take_number(path, entry, name, 0, 1 << 20, settings.downloads_mb));
    } else if (name == "addresses" && entry.is_table()) {
      for (const auto& [host, address] : *entry.as_table()) {
        TRY(take_text(path, address, "an address", settings.addresses[std::string(host.str())]));
      }
    } else {
      return wrong(path, entry, "unknown key network." + name);
    }
  }
  return base::done();
}

base::Status take_mounts(const std::string& path, const toml::node& node, Settings& settings) {
  if (!node.is_table()) return wrong(path, node, "mounts must be a table");
  for (const auto& [key, entry] : *node.as_table()) {
    const std::string name(key.str());
    std::string text;
    TRY(take_text(path, entry, "mounts." + name, text));
    auto folder = sandbox::parse_folder(name, text);
    if (name.empty() || !folder.ok()) {
      return wrong(path, entry, name.empty() ? "a mount needs a name" : folder.error().message);
    }
    settings.mounts.push_back(std::move(folder).value());
  }
  return base::done();
}

// Arrays are values as well.
void note_values(const toml::table& table, const std::string& above,
                 std::map<std::string, WrittenValue>& written) {
  for (const auto& [key, entry] : table) {
    const std::string name = above + std::string(key.str());
    if (const toml::table* inner = entry.as_table()) {
      note_values(*inner, name + ".", written);
      continue;
    }
    std::ostringstream text;
    if (const auto* plain = entry.as_string()) {
      text << plain->get();
    } else {
      text << toml::node_view(entry);
    }
    written[name] = {text.str(), entry.source().begin.line};
  }
}

base::Result<std::string> read_text(const std::string& path) {
  const auto wrong_file = [&path](const Error& failure) {
    const char* why = failure.os_errno != 0 ? ::strerrordesc_np(failure.os_errno) : nullptr;
    return base::error(Error::Kind::kInvalid, "the configuration " + path + " cannot be read: " +
                                                  (why != nullptr ? why : failure.message));
  };
  const auto file = base::open_file(AT_FDCWD, path, O_RDONLY);
  if (!file.ok()) return wrong_file(file.error());
  auto text = base::read_all(file.value().get(), kFileBytesMax);
  if (!text.ok()) return wrong_file(text.error());
  return text;
}

}  // namespace

base::Status read_config_file(const std::string& path, Settings& settings) {
  try {
    const toml::table file = toml::parse(TRY(read_text(path)), path);
    settings.config_file = path;
    note_values(file, "", settings.written);
    for (const auto& [key, entry] : file) {
      const std::string name(key.str());
      if (name == "state_dir") {
        TRY(take_text(path, entry, name, settings.state_directory));
      } else if (name == "share_dir") {
        TRY(take_text(path, entry, name, settings.share_directory.emplace()));
      } else if (name == "log_level") {
        TRY(take_text(path, entry, name, settings.log_level));
      } else if (name == "log_format") {
        TRY(take_text(path, entry, name, settings.log_format));
      } else if (name == "zygote") {
        if (!entry.is_boolean()) return wrong(path, entry, name + " must be true or false");
        settings.zygote = entry.as_boolean()->get();
      } else if (name == "session") {
        TRY(take_session(path, entry, settings));
      } else if (name == "retention") {
        TRY(take_retention(path, entry, settings.retention));
      } else if (name == "serve") {
        TRY(take_serve(path, entry, settings.serve));
      } else if (name == "e2b") {
        TRY(take_e2b(path, entry, settings.serve));
      } else if (name == "oauth") {
        TRY(take_oauth(path, entry, settings.oauth.emplace()));
      } else if (name == "mounts") {
        TRY(take_mounts(path, entry, settings));
      } else if (name == "network") {
        TRY(take_network(path, entry, settings));
      } else if (name == "limits") {
        TRY(take_limits(path, entry, name, settings.default_limits));
      } else if (name == "max_limits") {
        TRY(take_limits(path, entry, name, settings.most_limits));
      } else {
        return wrong(path, entry, "unknown key " + name + "; packaging/config.toml shows all");
      }
    }
  } catch (const toml::parse_error& failure) {
    return base::error(Error::Kind::kInvalid, path + ":" +
                                                  std::to_string(failure.source().begin.line) +
                                                  ": " + std::string(failure.description()));
  }
  return base::done();
}

}  // namespace tools::cli
