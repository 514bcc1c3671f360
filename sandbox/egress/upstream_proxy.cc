#include "sandbox/egress/upstream_proxy.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/write.hpp>

#include "sandbox/egress/upstream.h"

namespace sandbox::egress {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t kAnswerBytesMax = 16 * 1024;
constexpr std::size_t kReasonBytesMax = 200;

// Byte by byte: what comes after it is the host's, which may speak first.
Task<void> read_head(Connection& connection, http::response_parser<http::empty_body>& answer,
                     error_code& failure) {
  std::string head;
  while (!failure && !head.ends_with("\r\n\r\n")) {
    char byte = 0;
    if (head.size() == kAnswerBytesMax) failure = http::error::header_limit;
    if (!failure)
      co_await connection.upstream.async_read_some(asio::buffer(&byte, 1), into(failure));
    head.push_back(byte);
  }
  if (!failure) answer.put(asio::buffer(head), failure);
}

// Asks it for the connection's host; why not, or empty.
Task<std::string> ask(Connection& connection, const NetworkProxy& proxy) {
  const std::string host = connection.host + ":" + std::to_string(connection.port);
  http::request<http::empty_body> request(http::verb::connect, host, 11);
  request.set(http::field::host, host);
  if (!proxy.authorization.empty()) {
    request.set(http::field::proxy_authorization, proxy.authorization);
  }
  error_code failure;
  co_await http::async_write(connection.upstream, request, into(failure));
  http::response_parser<http::empty_body> answer;
  answer.header_limit(kAnswerBytesMax);
  answer.skip(true);
  if (!failure) co_await read_head(connection, answer, failure);
  if (failure) co_return "did not answer: " + failure.message();
  if (answer.get().result_int() / 100 != 2) {
    co_return "answered " + std::to_string(answer.get().result_int()) + " " +
        std::string(answer.get().reason().substr(0, kReasonBytesMax)) + " when it was asked for " +
        host;
  }
  co_return "";
}

}  // namespace

Task<std::string> connect_by_proxy(Connection& connection, Lookups& lookups, NetworkProxy proxy) {
  const std::string who =
      "the proxy of this network, " + proxy.host + ":" + std::to_string(proxy.port) + ", ";
  error_code failure;
  Lookups::Addresses addresses;
  if (const auto address = asio::ip::make_address(proxy.host, failure); !failure) {
    addresses.push_back(address);
  } else {
    addresses = co_await lookups.find(proxy.host, connection.client.socket());
  }
  if (addresses.empty()) co_return who + "has no address";
  std::string reason = co_await connect_to_one(connection, addresses, proxy.port);
  if (!reason.empty()) co_return who + "cannot be used: " + reason;
  reason = co_await ask(connection, proxy);
  if (reason.empty()) co_return "";
  connection.upstream.renew();
  co_return who + reason;
}

}  // namespace sandbox::egress
