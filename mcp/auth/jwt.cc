#include "mcp/auth/jwt.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/text.h"
#include "mcp/message.h"

namespace mcp::auth {
namespace {

using nlohmann::json;

std::optional<json> decode_object(std::string_view part) {
  const auto text = base::from_base64url(part);
  if (!text) return std::nullopt;
  auto parsed = parse_json(*text);
  auto* value = std::get_if<json>(&parsed);
  if (value == nullptr || !value->is_object()) return std::nullopt;
  return std::move(*value);
}

// Tokens of other purposes, signed by the same keys, say so here.
bool is_access_token(const json& header) {
  const auto type = header.find("typ");
  if (type == header.end()) return true;
  if (!type->is_string()) return false;
  const std::string name = base::lower(type->get_ref<const std::string&>());
  return name == "jwt" || name == "at+jwt" || name == "application/at+jwt";
}

std::optional<Refusal> read_header(const json& header, Jwt& jwt) {
  const auto algorithm = header.find("alg");
  const auto named = algorithm != header.end() && algorithm->is_string()
                         ? algorithm_named(algorithm->get_ref<const std::string&>())
                         : std::nullopt;
  if (!named) return Refusal{"the token is not signed with RS256, ES256 or EdDSA"};
  if (header.contains("crit")) return Refusal{"the token needs an extension that is not known"};
  if (!is_access_token(header)) return Refusal{"the token is no access token"};
  jwt.algorithm = *named;
  const auto key_id = header.find("kid");
  if (key_id == header.end()) return std::nullopt;
  if (!key_id->is_string()) return Refusal{"the key id of the token is no string"};
  jwt.key_id = key_id->get<std::string>();
  return std::nullopt;
}

std::optional<double> number_of(const json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

bool is_for_us(const json& claims, const std::string& resource) {
  const auto audience = claims.find("aud");
  if (audience == claims.end()) return false;
  const auto same = [&resource](const json& one) {
    return one.is_string() && canonical_resource(one.get_ref<const std::string&>()) == resource;
  };
  if (audience->is_array()) return std::any_of(audience->begin(), audience->end(), same);
  return same(*audience);
}

}  // namespace

std::variant<Jwt, Refusal> decode_jwt(std::string_view text) {
  const Refusal malformed{"the token is malformed"};
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos) return malformed;
  const auto header = decode_object(text.substr(0, first));
  auto claims = decode_object(text.substr(first + 1, second - first - 1));
  // A further dot is no digit of base64: what has more parts ends here.
  auto signature = base::from_base64url(text.substr(second + 1));
  if (!header || !claims || !signature) return malformed;
  Jwt jwt;
  if (auto refusal = read_header(*header, jwt)) return std::move(*refusal);
  jwt.claims = std::move(*claims);
  jwt.signed_bytes = text.substr(0, second);
  jwt.signature = std::move(*signature);
  return jwt;
}

std::optional<Refusal> check_claims(const json& claims, const Expected& expected, double now) {
  const auto issuer = claims.find("iss");
  if (issuer == claims.end() || *issuer != expected.issuer) {
    return Refusal{"the token is of another issuer"};
  }
  if (!is_for_us(claims, expected.resource)) return Refusal{"the token is for another audience"};
  const auto expires = number_of(claims, "exp");
  if (!expires) return Refusal{"the token has no time of expiry"};
  if (*expires + kLeewaySeconds <= now) return Refusal{"the token has expired"};
  if (claims.contains("nbf")) {
    const auto not_before = number_of(claims, "nbf");
    if (!not_before || *not_before - kLeewaySeconds > now) {
      return Refusal{"the token is not valid yet"};
    }
  }
  const auto subject = claims.find("sub");
  if (subject == claims.end() || !subject->is_string() ||
      subject->get_ref<const std::string&>().empty() ||
      subject->get_ref<const std::string&>().size() > kSubjectBytesMax) {
    return Refusal{"the token has no subject"};
  }
  return std::nullopt;
}

std::vector<std::string> scopes_of(const json& claims) {
  std::vector<std::string> scopes;
  for (const char* name : {"scope", "scp"}) {
    const auto found = claims.find(name);
    if (found == claims.end()) continue;
    if (found->is_string()) {
      for (const std::string_view scope : base::split(found->get_ref<const std::string&>(), ' ')) {
        if (!scope.empty()) scopes.emplace_back(scope);
      }
    }
    if (!found->is_array()) continue;
    for (const json& one : *found) {
      if (one.is_string()) scopes.push_back(one.get<std::string>());
    }
  }
  return scopes;
}

std::string canonical_resource(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const std::size_t end = std::min(url.find_first_of("/?#", scheme + 3), url.size());
  std::string origin = base::lower(url.substr(0, end));
  for (const std::string_view port : {"https:443", "http:80"}) {
    const std::size_t colon = port.find(':');
    if (origin.substr(0, scheme) == port.substr(0, colon) && origin.ends_with(port.substr(colon))) {
      origin.resize(origin.size() - (port.size() - colon));
    }
  }
  std::string_view path = url.substr(end);
  if (path.ends_with('/')) path.remove_suffix(1);
  return origin.append(path);
}

}  // namespace mcp::auth
