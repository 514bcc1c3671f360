// The heads of HTTP messages: whom a request is for, and what of a head goes on to the other side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include "sandbox/network_rule.h"

namespace sandbox::egress {

// A host that answers one request with more interim answers (RFC 9110 15.2) than this goes on
// without an end.
inline constexpr int kInterimAnswersMost = 8;

struct Target {
  std::string host;
  std::uint16_t port = kHttpPort;
  std::string path;  // as the host is asked for it
};

// Returns whom a request is for. A request to a proxy has the whole address, one to a host only the
// path, and the host in its field Host. Returns nothing when it does not say whom, or says it
// twice.
std::optional<Target> target_of(const boost::beast::http::request_header<>& head, bool as_proxy);

bool wants_websocket(const boost::beast::http::request_header<>& head);

// A Framing says where the body ends, as the message itself says it.
struct Framing {
  bool chunked = false;
  std::optional<std::uint64_t> length;
};

// Returns nothing when another reader could see another end (RFC 9112 6.3, 11.2), so nobody gets
// it.
template <bool kIsRequest>
std::optional<Framing> framing_of(
    const boost::beast::http::header<kIsRequest, boost::beast::http::fields>& head);

// Takes out what is of one connection only (RFC 9110 7.6.1), what Connection names besides, and the
// framing, which whoever sends it on says anew.
template <bool kIsRequest>
void drop_hop_by_hop(boost::beast::http::header<kIsRequest, boost::beast::http::fields>& head);

}  // namespace sandbox::egress
