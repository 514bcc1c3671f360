#include "sandbox/credential.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::string_view kHeader = "header:";
constexpr std::string_view kQuery = "query:";
constexpr std::string_view kSigned = "sigv4";
constexpr std::size_t kFieldBytesMax = 64;

// RFC 9110 5.6.2: a token. What frames a message, or says whom it is for, is never replaced.
bool is_field(std::string_view name) {
  static constexpr std::string_view kOfNames =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static constexpr std::string_view kNever[] = {
      "host", "content-length", "transfer-encoding", "connection", "upgrade", "proxy-authorization",
      "te",   "trailer"};
  if (name.empty() || name.size() > kFieldBytesMax) return false;
  if (name.find_first_not_of(kOfNames) != std::string_view::npos) return false;
  const std::string small = base::lower(name);
  for (const std::string_view never : kNever) {
    if (small == never) return false;
  }
  return true;
}

}  // namespace

std::string text_of_place(const Credential& credential) {
  switch (credential.place) {
    case Credential::Place::kBearer:
      return "bearer";
    case Credential::Place::kBasic:
      return "basic";
    case Credential::Place::kHeader:
      return std::string(kHeader) + credential.field;
    case Credential::Place::kQuery:
      return std::string(kQuery) + credential.field;
    case Credential::Place::kSigned:
      return std::string(kSigned);
  }
  return "";
}

base::Status take_place(std::string_view text, Credential& credential) {
  using Place = Credential::Place;
  credential.field.clear();
  for (const Place place : {Place::kBearer, Place::kBasic, Place::kSigned}) {
    credential.place = place;
    if (text == text_of_place(credential)) return base::done();
  }
  const bool is_header = text.starts_with(kHeader);
  if (is_header || text.starts_with(kQuery)) {
    credential.field = text.substr(text.find(':') + 1);
    credential.place = is_header ? Place::kHeader : Place::kQuery;
    if (is_field(credential.field)) return base::done();
  }
  return base::error(Error::Kind::kInvalid,
                     "a credential goes into a header or a parameter whose name is of letters, "
                     "digits and -_.; never into one that frames the request");
}

json credentials_to_json(const std::vector<Credential>& credentials) {
  json all = json::array();
  for (const Credential& credential : credentials) {
    all.push_back({{"name", credential.name},
                   {"host", text_of(credential.host)},
                   {"place", text_of_place(credential)},
                   {"allow_plain", credential.allows_plain}});
  }
  return all;
}

base::Result<std::vector<Credential>> credentials_from_json(const json& value) {
  std::vector<Credential> credentials;
  if (value.is_null()) return credentials;
  if (!value.is_array()) return base::error(Error::Kind::kInvalid, "credentials: no array");
  if (value.size() > kCredentialsMax) {
    return base::error(Error::Kind::kLimit,
                       "a session has at most " + std::to_string(kCredentialsMax) + " credentials");
  }
  for (const json& entry : value) {
    if (!entry.is_object()) return base::error(Error::Kind::kInvalid, "credentials: no object");
    Credential credential;
    credential.name = base::string_or(entry, "name");
    credential.host = TRY(parse_network_rule(base::string_or(entry, "host")));
    TRY(take_place(base::string_or(entry, "place"), credential));
    credential.allows_plain = base::boolean_or(entry, "allow_plain", false);
    credentials.push_back(std::move(credential));
  }
  return credentials;
}

}  // namespace sandbox
