#include "sandbox/box_spec.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/host_limits.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

// Who would have to allow more than `highest`; empty when nobody can.
std::string limit_line(const LimitRow& row, std::int64_t highest) {
  if (highest >= row.most) return "";
  if (highest >= most_of_host(row)) {
    return "; a session gets no more than a quarter of the host's kernel.pid_max";
  }
  return "; " + std::string(row.name) + " in [max_limits] of the configuration allows more";
}

// `wanted` is nothing where no whole number was given.
base::Status check_limit(const LimitRow& row, const std::optional<std::int64_t>& wanted,
                         const Limits& most) {
  const std::int64_t highest = std::min(row.most, most.*row.member);
  if (wanted && *wanted >= row.least && *wanted <= highest) return base::done();
  return base::error(Error::Kind::kInvalid, "limit " + std::string(row.name) +
                                                " must be a whole number from " +
                                                std::to_string(row.least) + " to " +
                                                std::to_string(highest) + limit_line(row, highest));
}

}  // namespace

json limits_to_json(const Limits& limits) {
  json value = json::object();
  for (const LimitRow& row : kLimitRows) value[row.name] = limits.*row.member;
  return value;
}

base::Status check_limits(const Limits& limits, const Limits& most) {
  for (const LimitRow& row : kLimitRows) TRY(check_limit(row, limits.*row.member, most));
  return base::done();
}

base::Result<Limits> limits_from_json(const json& value, const Limits& defaults,
                                      const Limits& most) {
  Limits limits = defaults;
  if (value.is_null()) return limits;
  if (!value.is_object()) return base::error(Error::Kind::kInvalid, "limits must be an object");
  for (const auto& [name, given] : value.items()) {
    const auto* row = std::find_if(std::begin(kLimitRows), std::end(kLimitRows),
                                   [&key = name](const LimitRow& r) { return key == r.name; });
    if (row == std::end(kLimitRows)) {
      std::string known;
      for (const LimitRow& r : kLimitRows) base::append_part(known, std::string(r.name));
      return base::error(Error::Kind::kInvalid,
                         "unknown limit \"" + base::echoed(name) + "\"; limits are: " + known);
    }
    const auto number = base::find_integer(value, row->name);
    TRY(check_limit(*row, number, most));
    limits.*row->member = *number;
  }
  return limits;
}

json rules_to_json(const std::vector<NetworkRule>& rules) {
  json texts = json::array();
  for (const NetworkRule& rule : rules) texts.push_back(text_of(rule));
  return texts;
}

base::Result<std::vector<NetworkRule>> rules_from_json(const json& value) {
  std::vector<NetworkRule> rules;
  if (value.is_null()) return rules;
  if (!value.is_array()) return base::error(Error::Kind::kInvalid, "hosts must be an array");
  for (const json& text : value) {
    if (!text.is_string()) return base::error(Error::Kind::kInvalid, "each host must be a string");
    rules.push_back(TRY(parse_network_rule(text.get_ref<const std::string&>())));
  }
  TRY(check_network_rules(rules));
  return rules;
}

json names_of(const std::vector<Language>& languages) {
  json names = json::array();
  for (const Language language : languages) names.push_back(name_of(language));
  return names;
}

json spec_to_json(const BoxSpec& spec) {
  json value = {{"session_id", spec.session_id},
                {"session_directory", spec.session_directory},
                {"program_directory", spec.program_directory},
                {"data_directory", spec.data_directory},
                {"environment_directory", spec.environment_directory},
                {"limits", limits_to_json(spec.limits)},
                {"env", spec.env},
                {"detach_seconds", spec.detach_seconds},
                {"idle_seconds", spec.idle_seconds},
                {"paused_max_seconds", spec.paused_max_seconds},
                {"ends_with_connection", spec.ends_with_connection},
                {"zygote_directory", spec.zygote_directory},
                {"ahead", names_of(spec.ahead)},
                {"host_folders", folders_to_json(spec.host_folders)},
                {"paths", path_rules_to_json(spec.paths)},
                {"network", rules_to_json(spec.network)},
                {"credentials", credentials_to_json(spec.credentials)},
                {"network_addresses", spec.network_addresses},
                {"certificate_bundle", spec.certificate_bundle},
                {"certificate_roots", spec.certificate_roots},
                {"certificate_authority", spec.certificate_authority},
                {"network_quota", quota_to_json(spec.network_quota)},
                {"private_hosts", rules_to_json(spec.private_hosts)},
                {"denied_addresses", ranges_to_json(spec.denied_addresses)},
                {"network_proxy", proxy_to_json(spec.network_proxy)},
                {"kept_hosts", spec.kept_hosts},
                {"downloads_mb", spec.downloads_mb},
                {"autosave_mb", spec.autosave_mb},
                {"stored_mb", spec.stored_mb},
                {"egress_directory", spec.egress_directory},
                {"note", spec.note}};
  if (spec.egress_uid) value["egress_uid"] = *spec.egress_uid;
  if (spec.host_uid) value["host_uid"] = *spec.host_uid;
  if (spec.ends_in_ms) value["ends_in_ms"] = *spec.ends_in_ms;
  if (spec.pauses_at_end) value["pauses_at_end"] = true;
  return value;
}

base::Result<BoxSpec> spec_from_json(const json& value) {
  BoxSpec spec;
  spec.session_id = base::string_or(value, "session_id");
  spec.session_directory = base::string_or(value, "session_directory");
  spec.program_directory = base::string_or(value, "program_directory");
  spec.data_directory = base::string_or(value, "data_directory");
  spec.environment_directory = base::string_or(value, "environment_directory");
  for (const std::string* required :
       {&spec.session_id, &spec.session_directory, &spec.program_directory, &spec.data_directory}) {
    if (required->empty())
      return base::error(Error::Kind::kInvalid, "box specification: incomplete");
  }
  spec.limits = TRY(limits_from_json(value.value("limits", json()), Limits(), widest_limits()));
  const json env = value.value("env", json::object());
  for (const auto& [name, text] : env.items()) {
    if (text.is_string()) spec.env[name] = text.get<std::string>();
  }
  spec.detach_seconds = base::integer_or(value, "detach_seconds", spec.detach_seconds);
  spec.idle_seconds = base::integer_or(value, "idle_seconds", spec.idle_seconds);
  spec.paused_max_seconds = base::integer_or(value, "paused_max_seconds", spec.paused_max_seconds);
  spec.ends_with_connection = base::boolean_or(value, "ends_with_connection", false);
  spec.zygote_directory = base::string_or(value, "zygote_directory");
  for (const json& name : value.value("ahead", json::array())) {
    if (!name.is_string()) continue;
    if (const auto language = find_language(name.get_ref<const std::string&>())) {
      spec.ahead.push_back(*language);
    }
  }
  spec.host_folders = TRY(folders_from_json(value.value("host_folders", json())));
  spec.paths = TRY(path_rules_from_json(value.value("paths", json())));
  spec.network = TRY(rules_from_json(value.value("network", json::array())));
  spec.credentials = TRY(credentials_from_json(value.value("credentials", json::array())));
  const json addresses = value.value("network_addresses", json::object());
  for (const auto& [name, text] : addresses.items()) {
    if (text.is_string()) spec.network_addresses[name] = text.get<std::string>();
  }
  spec.certificate_bundle = base::string_or(value, "certificate_bundle");
  spec.certificate_roots = base::string_or(value, "certificate_roots");
  spec.certificate_authority = base::string_or(value, "certificate_authority");
  spec.network_quota = TRY(quota_from_json(value.value("network_quota", json::object())));
  spec.private_hosts = TRY(rules_from_json(value.value("private_hosts", json::array())));
  spec.denied_addresses = TRY(ranges_from_json(value.value("denied_addresses", json::array())));
  spec.network_proxy = TRY(proxy_from_json(value.value("network_proxy", json())));
  for (const json& host : value.value("kept_hosts", json::array())) {
    if (host.is_string()) spec.kept_hosts.push_back(host.get<std::string>());
  }
  spec.downloads_mb = base::integer_or(value, "downloads_mb", 0);
  spec.autosave_mb = base::integer_or(value, "autosave_mb", 0);
  spec.stored_mb = base::integer_or(value, "stored_mb", 0);
  spec.egress_directory = base::string_or(value, "egress_directory");
  if (const auto uid = base::find_integer(value, "egress_uid")) {
    spec.egress_uid = static_cast<std::uint32_t>(*uid);
  }
  spec.note = base::string_or(value, "note");
  if (const auto uid = base::find_integer(value, "host_uid")) {
    spec.host_uid = static_cast<std::uint32_t>(*uid);
  }
  spec.ends_in_ms = base::find_integer(value, "ends_in_ms");
  spec.pauses_at_end = value.value("pauses_at_end", json(false)) == json(true);
  return spec;
}

}  // namespace sandbox
