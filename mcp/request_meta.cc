#include "mcp/request_meta.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr const char* kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr const char* kClientKey = "io.modelcontextprotocol/clientInfo";
constexpr const char* kLogLevelKey = "io.modelcontextprotocol/logLevel";
constexpr std::size_t kNameBytesMax = 200;  // a client's; it ends up in records

std::string short_text(const json& object, const char* name) {
  return base::string_or(object, name).substr(0, kNameBytesMax);
}

RpcError wrong(std::string message) {
  return {kInvalidParams, std::move(message), nullptr, nullptr};
}

}  // namespace

bool claims_revision(const json& params) {
  const json* meta = base::find_member(params, "_meta");
  return meta != nullptr && base::find_member(*meta, kVersionKey) != nullptr;
}

std::variant<ModernMeta, RpcError> read_modern_meta(const json& params) {
  const json& meta = params["_meta"];
  const json& claim = meta[kVersionKey];
  if (!claim.is_string()) return wrong(std::string("_meta: a string is needed in ") + kVersionKey);
  const json* capabilities = base::find_member(meta, kCapabilitiesKey);
  if (capabilities == nullptr || !capabilities->is_object()) {
    return wrong(std::string("_meta: an object is needed in ") + kCapabilitiesKey);
  }
  const json* client = base::find_member(meta, kClientKey);
  if (client != nullptr && !client->is_object()) {
    return wrong(std::string("_meta: no object in ") + kClientKey);
  }
  const json* level = base::find_member(meta, kLogLevelKey);
  const auto log_level = level == nullptr ? std::nullopt : read_log_level(*level);
  if (level != nullptr && !log_level) {
    return wrong(std::string("_meta: unknown level in ") + kLogLevelKey);
  }
  const auto& name = claim.get_ref<const std::string&>();
  const wire::Format* format = wire::find_format(name);
  if (format != nullptr && !format->modern) format = nullptr;
  return ModernMeta{name, format, client == nullptr ? ClientInfo{} : read_client_info(*client),
                    *capabilities, log_level};
}

RpcError unsupported_revision(const std::string& claim) {
  json supported = json::array();
  for (const wire::Format* modern : wire::modern_formats()) supported.push_back(modern->name);
  return {kUnsupportedProtocolVersion, "unsupported protocol version",
          json{{"supported", std::move(supported)}, {"requested", claim.substr(0, kNameBytesMax)}},
          nullptr};
}

ClientInfo read_client_info(const json& implementation) {
  return {short_text(implementation, "name"), short_text(implementation, "version")};
}

std::string trace_parent(const json& params) {
  const json* meta = base::find_member(params, "_meta");
  const std::string text = meta == nullptr ? "" : base::string_or(*meta, "traceparent");
  static constexpr std::string_view kShape =
      "00-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
  if (text.size() != kShape.size()) return {};
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (kShape[i] == 'x' ? !hex : text[i] != kShape[i]) return {};
  }
  return text;
}

json progress_token(const json& params) {
  const json* meta = base::find_member(params, "_meta");
  const json* token = meta == nullptr ? nullptr : base::find_member(*meta, "progressToken");
  return token != nullptr && is_id(*token) ? *token : json(nullptr);
}

}  // namespace mcp
