// A credential that the door adds to requests of a session, which never sees it: for which host,
// and where in a request it belongs. What it is nobody reads here; see egress_protocol.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sandbox/network_rule.h"

namespace sandbox {

inline constexpr std::size_t kCredentialsMax = 32;  // for one session

struct Credential {
  enum class Place {
    kBearer,  // Authorization: Bearer VALUE, RFC 6750
    kBasic,   // Authorization: Basic, of a value "user:password", RFC 7617
    kHeader,  // a field of its own
    kQuery,   // a parameter of the address
    kSigned   // AWS Signature Version 4, of a value "id:secret" or "id:secret:token"
  };

  std::string name;
  NetworkRule host;  // without methods and path
  Place place = Place::kBearer;
  std::string field;          // the name of the header or parameter, for kHeader and kQuery
  bool allows_plain = false;  // also to requests that are not within TLS

  friend bool operator==(const Credential&, const Credential&) = default;
};

// Returns "bearer", "basic", "header:X-Api-Key", "query:key" or "sigv4".
std::string text_of_place(const Credential& credential);
// Fails with kInvalid when it is none of these.
base::Status take_place(std::string_view text, Credential& credential);

nlohmann::json credentials_to_json(const std::vector<Credential>& credentials);
// Fails with kInvalid, or with kLimit when there are too many.
base::Result<std::vector<Credential>> credentials_from_json(const nlohmann::json& value);

}  // namespace sandbox
