// Who may come in: Host and Origin, cross-origin rules for browsers, and the token. Nothing of a
// request's body is read before this.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/auth/authenticator.h"
#include "mcp/http/message.h"

namespace mcp::http {

struct DoorOptions {
  std::vector<std::string> allow_origins;  // "https://app.example.org"
  // Names that Host may give, without a port, beside those of this machine; empty: `any_host`.
  std::vector<std::string> allow_hosts;
  bool any_host = false;  // the proxy in front has looked at it, or nobody comes by name
  auth::Authenticator authenticate;
};

class Door {
 public:
  explicit Door(DoorOptions options) : options_(std::move(options)) {}

  // False: `refusal` says why, or answers a browser that asks beforehand.
  bool check_place(const Request& request, Response& refusal) const;
  // Puts the principal into `request`; or why there is none.
  std::optional<auth::Challenge> check_token(Request& request) const;
  // What lets a script of an allowed origin read the response.
  void add_cross_origin(const Request& request, Response& response) const;

 private:
  [[nodiscard]] bool host_is_allowed(const Request& request) const;
  [[nodiscard]] bool name_is_allowed(const std::string& name) const;
  [[nodiscard]] bool label_is_allowed(const std::string& host) const;
  [[nodiscard]] bool origin_is_listed(std::string_view origin) const;
  [[nodiscard]] bool origin_is_allowed(const Request& request) const;

  const DoorOptions options_;
};

// "3000-session-k2" of the host "3000-session_k2.example.org:80"; empty: it has no such first
// label. Names of this kind below one that is allowed are allowed, since who has that one has them.
std::string host_label(std::string_view host);

// A JSON-RPC error without id, for what has no request to answer.
Response refuse(int status, int code, const std::string& message);
// The same for what is no matter of JSON-RPC: kTransportError.
Response refuse(int status, const std::string& message);

// What to do about a token, as an answer.
Response refuse(const auth::Challenge& challenge);

// Of the range that the legacy revisions leave to servers; no modern client takes it for one of
// its own errors.
inline constexpr int kTransportError = -32000;

}  // namespace mcp::http
