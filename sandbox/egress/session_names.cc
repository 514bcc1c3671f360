// The name service of a session's box.
#include <array>
#include <chrono>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "sandbox/egress/dns.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {
namespace {

constexpr std::size_t kQueryBytesMax = 4096;
constexpr std::chrono::seconds kQueriesPatience{10};

}  // namespace

std::optional<std::string> Session::answer(std::string_view query) {
  return answer_query(query, [this](const std::string& name) {
    const auto host = canonical_host(name);
    // The addresses that names have here are the door's, and mean nothing elsewhere.
    if (host.ok() && is_name_of_address(host.value())) {
      refuse(host.value(), 0, "addresses have no names in a session");
      return Lookup{};
    }
    if (!host.ok() || !allows_host(rules_, host.value())) {
      refuse(host.ok() ? host.value() : name.substr(0, 255), 0,
             not_allowed(host.ok() ? host.value() : "HOST", 0));
      return Lookup{};
    }
    const auto address = names_.address_of(host.value());
    if (address) return Lookup{Lookup::Verdict::kAllowed, *address};
    refuse(
        host.value(), 0,
        "the session has asked for " + std::to_string(Names::kMax) + " names, which is the most");
    return Lookup{Lookup::Verdict::kTooMany};
  });
}

Task<void> Session::answer_packets(std::shared_ptr<asio::ip::udp::socket> socket) {
  const auto self = shared_from_this();
  std::array<char, kQueryBytesMax> query;
  while (!closed_) {
    error_code failure;
    asio::ip::udp::endpoint from;
    const std::size_t size =
        co_await socket->async_receive_from(asio::buffer(query), from, into(failure));
    if (failure == asio::error::operation_aborted || closed_) co_return;
    if (failure) continue;
    const auto reply = answer({query.data(), size});
    // Who does not take it asks again.
    if (reply) socket->send_to(asio::buffer(*reply), from, 0, failure);
  }
}

// RFC 1035 4.2.2: each message with its length before it.
Task<void> Session::answer_stream(std::shared_ptr<Session> session,
                                  std::shared_ptr<Connection> connection) {
  std::array<unsigned char, 2> length;
  std::string message;
  error_code failure;
  while (!failure) {
    connection->allow_silence(kQueriesPatience);
    co_await asio::async_read(connection->client, asio::buffer(length), into(failure));
    if (failure) break;
    message.resize(static_cast<std::size_t>(length[0]) << 8 | length[1]);
    co_await asio::async_read(connection->client, asio::buffer(message), into(failure));
    if (failure || message.size() > kQueryBytesMax) break;
    const auto reply = session->answer(message);
    if (!reply) break;
    const std::size_t size = reply->size();
    const std::string whole =
        std::string{static_cast<char>(size >> 8), static_cast<char>(size & 0xFF)} + *reply;
    co_await asio::async_write(connection->client, asio::buffer(whole), into(failure));
  }
  connection->close();
}

}  // namespace sandbox::egress
