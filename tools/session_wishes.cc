#include "tools/session_wishes.h"

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/address_range.h"
#include "sandbox/host_folder.h"
#include "sandbox/network_rule.h"

namespace tools {

using base::Error;
using nlohmann::json;

namespace {

// Whoever misspells a key would believe that it holds.
base::Status check_keys(const json& value, const std::string& what,
                        const std::vector<std::string>& known) {
  if (!value.is_object()) return base::invalid(what + " must be an object");
  for (const auto& [key, member] : value.items()) {
    if (base::contains(known, key)) continue;
    return base::invalid("unknown key " + what + "." + base::echoed(key) +
                         "; there are: " + base::join(known));
  }
  return base::done();
}

using Texts = std::optional<std::vector<std::string>>;

// Nothing for a member that is not there, or null where that is `allowed_null`.
base::Result<Texts> texts_in(const json& value, const std::string& what, const char* key,
                             std::size_t most, bool allowed_null) {
  const auto member = value.find(key);
  if (member == value.end() || (allowed_null && member->is_null())) return Texts();
  const Error malformed =
      base::invalid(what + "." + key + " must be an array of " +
                    (allowed_null ? "strings, at most " + std::to_string(most)
                                  : "at most " + std::to_string(most) + " strings"));
  if (!member->is_array() || member->size() > most) return malformed;
  std::vector<std::string> texts;
  for (const json& entry : *member) {
    if (!entry.is_string()) return malformed;
    texts.push_back(entry.get<std::string>());
  }
  return Texts(std::move(texts));
}

}  // namespace

base::Result<sessions::NetworkWish> network_wish(const json& value) {
  sessions::NetworkWish wish;
  if (value.is_null() || value.empty()) return wish;
  TRY(check_keys(value, "network", {"allow", "block_outbound", "credentials", "deny_addresses"}));
  const json block = value.value("block_outbound", json(false));
  if (!block.is_boolean() && !block.is_null()) {
    return base::invalid("network.block_outbound must be true or false");
  }
  wish.blocks_outbound = block == json(true);
  const auto credentials =
      TRY(texts_in(value, "network", "credentials", sandbox::kNetworkRulesMax, true));
  wish.credentials = credentials.value_or(std::vector<std::string>());
  wish.allow = TRY(texts_in(value, "network", "allow", sandbox::kNetworkRulesMax, true));
  auto denied = sandbox::ranges_from_json(value.value("deny_addresses", json()));
  if (!denied.ok()) return std::move(denied).error().context("network.deny_addresses");
  wish.denied = std::move(denied).value();
  return wish;
}

base::Result<sessions::FilesystemWish> filesystem_wish(const json& value) {
  sessions::FilesystemWish wish;
  if (value.is_null() || value.empty()) return wish;
  TRY(check_keys(value, "filesystem", {"read_only", "read_write", "blocked"}));
  wish.read_only = TRY(texts_in(value, "filesystem", "read_only", sandbox::kHostFoldersMax, false));
  wish.read_write =
      TRY(texts_in(value, "filesystem", "read_write", sandbox::kHostFoldersMax, false));
  wish.blocked = TRY(texts_in(value, "filesystem", "blocked", sandbox::kHostFoldersMax, false));
  return wish;
}

}  // namespace tools
