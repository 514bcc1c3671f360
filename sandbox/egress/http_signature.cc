#include "sandbox/egress/http_signature.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/json.h"
#include "base/percent_encoding.h"
#include "base/text.h"

namespace sandbox::egress {
namespace {

namespace http = boost::beast::http;
using SigningHead = http::request_header<>;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kScopeEnd = "aws4_request";
constexpr std::string_view kUnsigned = "UNSIGNED-PAYLOAD";
constexpr std::string_view kStorage = "s3";  // whose paths are encoded once, all others' twice
constexpr const char* kPayloadField = "X-Amz-Content-Sha256";

std::string_view text_of_field(const SigningHead& head, const char* name) {
  const auto value = head[name];
  return {value.data(), value.size()};
}

// Returns each name and value of the target's query, decoded.
std::vector<std::pair<std::string, std::string>> parameters_of(std::string_view target) {
  std::vector<std::pair<std::string, std::string>> parameters;
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return parameters;
  for (const std::string_view one : base::split(target.substr(mark + 1), '&')) {
    if (one.empty()) continue;
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string_view value = one.substr(std::min(one.size(), equals + 1));
    parameters.emplace_back(base::percent_decoded(one.substr(0, equals)),
                            base::percent_decoded(value));
  }
  return parameters;
}

std::string canonical_query(std::string_view target) {
  auto parameters = parameters_of(target);
  for (auto& [name, value] : parameters) {
    name = base::percent_encoded(name);
    value = base::percent_encoded(value);
  }
  std::sort(parameters.begin(), parameters.end());
  std::string query;
  for (const auto& [name, value] : parameters) {
    base::append_part(query, name + "=" + value, "&");
  }
  return query;
}

std::string canonical_path(std::string_view target, const std::string& service) {
  const std::string_view path = target.substr(0, target.find('?'));
  std::string canonical;
  for (const std::string_view part : base::split(path, '/')) {
    const std::string once = service == kStorage
                                 ? base::percent_encoded(base::percent_decoded(part))
                                 : base::percent_encoded(part);
    canonical += (part.data() == path.data() ? "" : "/") + once;
  }
  return canonical.empty() ? "/" : canonical;
}

// A target whose query holds a signature of its own has it no longer.
std::string without_signature(std::string_view target) {
  static constexpr std::string_view kOfSignature[] = {
      "x-amz-algorithm",     "x-amz-credential", "x-amz-date",          "x-amz-expires",
      "x-amz-signedheaders", "x-amz-signature",  "x-amz-security-token"};
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return std::string(target);
  std::string left(target.substr(0, mark));
  char before = '?';
  for (const std::string_view one : base::split(target.substr(mark + 1), '&')) {
    const std::string name = base::lower(base::percent_decoded(one.substr(0, one.find('='))));
    if (std::find(std::begin(kOfSignature), std::end(kOfSignature), name) !=
        std::end(kOfSignature)) {
      continue;
    }
    left += before;
    left += one;
    before = '&';
  }
  return left;
}

// Spaces at both ends go, those between words are one.
std::string trimmed(std::string_view value) {
  std::string text;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (is_space && (text.empty() || text.back() == ' ')) continue;
    text += is_space ? ' ' : c;
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

std::map<std::string, std::string> signed_fields(const SigningHead& head) {
  std::map<std::string, std::string> fields;
  for (const auto& field : head) {
    const std::string name = base::lower({field.name_string().data(), field.name_string().size()});
    if (name != "host" && name != "content-type" && !name.starts_with("x-amz-")) continue;
    const std::string value = trimmed({field.value().data(), field.value().size()});
    const auto [known, is_new] = fields.emplace(name, value);
    if (!is_new) known->second += "," + value;
  }
  return fields;
}

std::string moment(std::time_t now) {
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, sizeof "20060102T150405Z"> text;
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), size};
}

std::optional<SigningScope> scope_in(std::string_view credential) {
  const auto parts = base::split(credential, '/');
  if (parts.size() != 5 || parts[4] != kScopeEnd) return std::nullopt;
  return SigningScope{std::string(parts[2]), std::string(parts[3])};
}

}  // namespace

std::optional<SigningKey> signing_key_of(const std::string& value) {
  SigningKey key;
  if (value.starts_with('{')) {
    const auto printed = base::parse_json(value);
    if (!printed.ok() || !printed.value().is_object()) return std::nullopt;
    key.id = base::string_or(printed.value(), "AccessKeyId");
    key.secret = base::string_or(printed.value(), "SecretAccessKey");
    key.token = base::string_or(printed.value(), "SessionToken");
  } else {
    const auto parts = base::split(value, ':');
    if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
    key.id = parts[0];
    key.secret = parts[1];
    if (parts.size() == 3) key.token = parts[2];
  }
  if (key.id.empty() || key.secret.empty()) return std::nullopt;
  return key;
}

std::optional<SigningScope> signing_scope_of(const SigningHead& head, std::string_view host) {
  constexpr std::string_view kCredential = "Credential=";
  const std::string_view authorization = text_of_field(head, "authorization");
  if (const std::size_t begin = authorization.find(kCredential);
      begin != std::string_view::npos && authorization.starts_with(kAlgorithm)) {
    const std::string_view rest = authorization.substr(begin + kCredential.size());
    if (auto scope = scope_in(rest.substr(0, rest.find_first_of(", ")))) return scope;
  }
  for (const auto& [name, value] : parameters_of({head.target().data(), head.target().size()})) {
    if (base::lower(name) != "x-amz-credential") continue;
    if (auto scope = scope_in(value)) return scope;
  }
  constexpr std::string_view kAmazon = ".amazonaws.com";
  if (!host.ends_with(kAmazon)) return std::nullopt;
  host.remove_suffix(kAmazon.size());
  const auto labels = base::split(host, '.');
  // "s3" and "bucket.s3" are those of the first region.
  if (labels.back() == kStorage) return SigningScope{"us-east-1", std::string(kStorage)};
  if (labels.size() < 2) return SigningScope{"us-east-1", std::string(labels.back())};
  return SigningScope{std::string(labels.back()), std::string(labels[labels.size() - 2])};
}

std::optional<std::string> payload_told_by(const SigningHead& head, const SigningScope& scope) {
  const std::string told(text_of_field(head, kPayloadField));
  if (told.starts_with("STREAMING-AWS4-")) return std::nullopt;
  if (told.empty() && scope.service == kStorage) return std::string(kUnsigned);
  return told;
}

base::Result<std::vector<std::string>> sign(const SigningKey& key, const SigningScope& scope,
                                            const std::string& payload, std::time_t now,
                                            SigningHead& head) {
  const std::string date_and_time = moment(now);
  const std::string date = date_and_time.substr(0, date_and_time.find('T'));
  head.target(without_signature({head.target().data(), head.target().size()}));
  const std::string target(head.target().data(), head.target().size());
  head.erase("authorization");
  head.erase("x-amz-security-token");
  head.set("X-Amz-Date", date_and_time);
  if (!key.token.empty()) head.set("X-Amz-Security-Token", key.token);
  if (scope.service == kStorage) head.set(kPayloadField, payload);

  std::string fields;
  std::string names;
  for (const auto& [name, value] : signed_fields(head)) {
    fields += name + ":" + value + "\n";
    base::append_part(names, name, ";");
  }
  const std::string request =
      std::string(head.method_string()) + "\n" + canonical_path(target, scope.service) + "\n" +
      canonical_query(target) + "\n" + fields + "\n" + names + "\n" + payload;
  const std::string whole_scope =
      date + "/" + scope.region + "/" + scope.service + "/" + std::string(kScopeEnd);
  const std::string to_sign = std::string(kAlgorithm) + "\n" + date_and_time + "\n" + whole_scope +
                              "\n" + TRY(base::sha256_hex(request));
  std::string signing = TRY(base::hmac_sha256("AWS4" + key.secret, date));
  for (const std::string_view part :
       {std::string_view(scope.region), std::string_view(scope.service), kScopeEnd}) {
    signing = TRY(base::hmac_sha256(signing, part));
  }
  const std::string signature = base::in_hex(TRY(base::hmac_sha256(signing, to_sign)));
  head.set("Authorization", std::string(kAlgorithm) + " Credential=" + key.id + "/" + whole_scope +
                                ", SignedHeaders=" + names + ", Signature=" + signature);
  std::vector<std::string> secrets{key.secret, signature};
  if (!key.token.empty()) secrets.push_back(key.token);
  return secrets;
}

}  // namespace sandbox::egress
