// Measures what Boost.Beast alone costs: every request is read whole and answered with the same few
// words, and nothing is checked. Beside echo_server it says what our way of HTTP could gain at
// most. Boost 1.74 uses it and does not say so.
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

constexpr const char* kAnswer =
    R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Echo: hello"}]}})";

asio::awaitable<void> serve(tcp::socket socket) {
  beast::tcp_stream stream(std::move(socket));
  beast::flat_buffer buffer;
  try {
    while (true) {
      stream.expires_after(std::chrono::seconds(60));
      http::request_parser<http::string_body> parser;
      parser.header_limit(64 << 10);
      parser.body_limit(std::uint64_t{112} << 20);
      co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
      http::response<http::string_body> response(http::status::ok, 11);
      response.set(http::field::content_type, "application/json");
      response.keep_alive(parser.get().keep_alive());
      response.body() = kAnswer;
      response.prepare_payload();
      co_await http::async_write(stream, response, asio::use_awaitable);
      if (!response.keep_alive()) co_return;
    }
  } catch (const std::exception&) {
    co_return;  // its client has gone
  }
}

asio::awaitable<void> listen(tcp::acceptor& acceptor) {
  while (true) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(acceptor.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

}  // namespace

int main() {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
  asio::co_spawn(context, listen(acceptor), asio::detached);
  std::printf("127.0.0.1:%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    threads.emplace_back([&context] { (void)context.run(); });
  }
}
