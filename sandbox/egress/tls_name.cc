#include "sandbox/egress/tls_name.h"

#include "sandbox/egress/client_hello.h"
#include "sandbox/network_rule.h"

namespace sandbox::egress {
namespace {

constexpr std::size_t kHelloPartBytes = 4096;

TlsName name_of(const ClientHello& hello) {
  if (hello.has_hidden_name()) {
    return {.host = {},
            .reason = "the client hides whom it wants to talk to (encrypted ClientHello)"};
  }
  if (hello.server_name().empty()) {
    return {.host = {}, .reason = "the client does not say whom it wants to talk to (no SNI)"};
  }
  auto host = canonical_host(hello.server_name());
  if (!host.ok()) return {.host = {}, .reason = "the client's SNI is no host name"};
  return {.host = std::move(host).value(), .reason = {}};
}

}  // namespace

std::string why_not(const TlsName& asked) {
  return asked.host.empty() ? asked.reason
                            : "the client asks this host for another one: " + asked.host;
}

Task<TlsName> read_tls_name(Connection& connection, std::string& first) {
  ClientHello hello;
  auto state = first.empty() ? ClientHello::State::kIncomplete : hello.feed(first);
  while (state == ClientHello::State::kIncomplete && first.size() < ClientHello::kBytesMax) {
    const std::size_t known = first.size();
    first.resize(known + kHelloPartBytes);
    error_code failure;
    const std::size_t got = co_await connection.client.async_read_some(
        asio::buffer(first.data() + known, kHelloPartBytes), into(failure));
    first.resize(known + got);
    if (failure) co_return TlsName{.host = {}, .reason = "the client has ended the connection"};
    state = hello.feed(std::string_view(first).substr(known));
  }
  if (state == ClientHello::State::kWhole) co_return name_of(hello);
  co_return TlsName{.host = {},
                    .reason = "what the client sends is no TLS, which it has to be here"};
}

}  // namespace sandbox::egress
