// The heads of HTTP messages on their way to a server in a session, and back. By Boost.Beast. RFC
// 9112.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/ports/pump.h"

namespace tools::ports {

// Describes a request on its way in.
struct Inward {
  std::uint16_t port = 0;
  // This is the beginning of the path, "/ports/session_k2/3000", which the server does not know; or
  // it is empty.
  std::string prefix = {};
  bool keeps_origin = false;  // its host is one that the server may see, and so are cookies
  std::vector<std::string> secrets = {};         // headers that are hutch's alone
  std::vector<std::string> secret_cookies = {};  // names
  bool is_tls = false;                           // up to here
  std::string host = {};                         // the Host sent on; empty: as it came
};

struct RequestHead {
  std::string text;
  bool upgrades = false;           // to a WebSocket, say
  bool waits_to_continue = false;  // its client sends its body when it is told to
};

// `head` has been let in by the door. Of one connection one request is answered.
base::Result<RequestHead> head_for_server(std::string_view head, const Inward& how);

// Returns, for the pump, the head of the response as the client gets it.
Opening head_for_client(bool upgrades, const Inward& how);

// Returns what stands between the semicolons of a Cookie or Set-Cookie header, without the space
// around it.
std::vector<std::string_view> parts_of(std::string_view cookies);

// Returns a response of our own.
std::string plain_answer(int status, const std::string& text,
                         const std::vector<std::pair<std::string, std::string>>& headers = {});

}  // namespace tools::ports
