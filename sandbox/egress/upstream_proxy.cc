#include "sandbox/egress/upstream_proxy.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "sandbox/egress/upstream.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint32_t kAnswerBytesMax = 16 * 1024;

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
  beast::flat_buffer buffer(kAnswerBytesMax);
  http::response_parser<http::empty_body> answer;
  answer.header_limit(kAnswerBytesMax);
  answer.skip(true);
  if (!failure) {
    co_await http::async_read_header(connection.upstream, buffer, answer, into(failure));
  }
  if (failure) co_return "did not answer: " + failure.message();
  if (answer.get().result_int() / 100 != 2) {
    co_return "answered " + std::to_string(answer.get().result_int()) + " " +
        std::string(answer.get().reason()) + " when it was asked for " + host;
  }
  // A host that speaks first would lose these bytes.
  if (buffer.size() > 0) co_return "sent more than its answer, which is not carried on";
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
