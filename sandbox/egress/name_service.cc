#include "sandbox/egress/name_service.h"

#include <array>
#include <chrono>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "sandbox/egress/session.h"

namespace sandbox::egress {
namespace {

constexpr std::size_t kQueryBytesMax = 4096;
constexpr std::chrono::seconds kQueriesPatience{10};

}  // namespace

Task<void> serve_name_packets(std::shared_ptr<Session> session,
                              std::shared_ptr<asio::ip::udp::socket> socket) {
  std::array<char, kQueryBytesMax> query;
  while (!session->is_closed()) {
    error_code failure;
    asio::ip::udp::endpoint from;
    const std::size_t size =
        co_await socket->async_receive_from(asio::buffer(query), from, into(failure));
    if (failure == asio::error::operation_aborted || session->is_closed()) co_return;
    if (failure) continue;
    const auto reply = session->answer_names({query.data(), size});
    // Who does not take it asks again.
    if (reply) socket->send_to(asio::buffer(*reply), from, 0, failure);
  }
}

// RFC 1035 4.2.2: each message with its length before it.
Task<void> serve_names(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection) {
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
    const auto reply = session->answer_names(message);
    if (!reply) break;
    const std::size_t size = reply->size();
    const std::string whole =
        std::string{static_cast<char>(size >> 8), static_cast<char>(size & 0xFF)} + *reply;
    co_await asio::async_write(connection->client, asio::buffer(whole), into(failure));
  }
  connection->close();
}

}  // namespace sandbox::egress
