// Decides who may come in: Host and Origin, cross-origin rules for browsers, and the token. Nothing
// of a request's body is read before this.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mcp/auth/authenticator.h"
#include "mcp/http/message.h"

namespace mcp::http {

// These may be changed while requests are answered.
struct DoorNames {
  std::vector<std::string> allow_origins;  // "https://app.example.org"
  // These are names that Host may give, without a port, beside those of this machine; empty:
  // `any_host`.
  std::vector<std::string> allow_hosts;
  bool any_host = false;  // the proxy in front has looked at it, or nobody comes by name
};

struct DoorOptions : DoorNames {
  auth::Authenticator authenticate;
};

class Door {
 public:
  explicit Door(DoorOptions options);

  // They hold from now on, in place of those that it was made with. Any thread may say so.
  void change_names(DoorNames names);

  // Returns false when `refusal` says why, or answers a browser that asks beforehand. `any_host`:
  // nothing of what is asked for here depends on the name by which it was found.
  bool check_place(const Request& request, Response& refusal, bool any_host = false) const;
  // Puts the principal into `request`; or why there is none.
  std::optional<auth::Challenge> check_token(Request& request) const;
  // Adds the headers that let a script of an allowed origin read the response.
  void add_cross_origin(const Request& request, Response& response) const;

 private:
  [[nodiscard]] std::shared_ptr<const DoorNames> names() const;

  const auth::Authenticator authenticate_;
  mutable std::mutex mutex_;
  std::shared_ptr<const DoorNames> names_;
};

// Returns "3000-session-k2" for the host "3000-session_k2.example.org:80"; empty when it has no
// such first label. Names of this kind below one that is allowed are allowed, since who has that
// one has them.
std::string host_label(std::string_view host);

// Makes a JSON-RPC error without id, for what has no request to answer.
Response refuse(int status, int code, const std::string& message);
// Makes a JSON-RPC error without id for what is no matter of JSON-RPC: its code is kTransportError.
Response refuse(int status, const std::string& message);
// Makes a 404 for whatever protocol has come to the wrong place: clients of REST read `code` and
// `message`.
Response refuse_path(const std::string& message);

// Makes the answer that tells a client what to do about its token.
Response refuse(const auth::Challenge& challenge);

// The legacy revisions leave the range of this code to servers; no modern client takes it for one
// of its own errors.
inline constexpr int kTransportError = -32000;

}  // namespace mcp::http
