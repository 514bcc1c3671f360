#include "sandbox/egress/http_relay.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <string>

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "sandbox/egress/session.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kBodyPartBytes = 64 * 1024;
// Not boost::none, which Boost 1.74 takes for less than any length.
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::chrono::seconds kRequestSilenceMost{3600};
constexpr std::chrono::seconds kNextRequest{60};

// Of one connection only, RFC 9110 7.6.1, and what Connection names besides.
constexpr http::field kHopByHop[] = {http::field::connection,
                                     http::field::keep_alive,
                                     http::field::proxy_authenticate,
                                     http::field::proxy_authorization,
                                     http::field::proxy_connection,
                                     http::field::te,
                                     http::field::trailer,
                                     http::field::upgrade};

struct Target {
  std::string host;
  std::uint16_t port = kHttpPort;
  std::string path;  // as the host is asked for it
};

// "host" or "host:port", of a plain http address.
bool take_authority(std::string_view text, Target& target) {
  const std::size_t colon = text.find(':');
  auto host = canonical_host(text.substr(0, colon));
  if (!host.ok()) return false;
  target.host = std::move(host).value();
  if (colon == std::string_view::npos) return true;
  const char* const end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data() + colon + 1, end, target.port);
  return failure == std::errc() && stopped == end && target.port != 0;
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

// Whom a request is for. Of a proxy the whole address is asked for; of a host only the path.
std::optional<Target> target_of(const http::request_header<>& head, bool as_proxy) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view asked = view(head.target());
  Target target;
  if (as_proxy) {
    if (!asked.starts_with(kScheme)) return std::nullopt;
    const std::string_view rest = asked.substr(kScheme.size());
    const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
    target.path = rest.substr(slash);
    if (!target.path.starts_with('/')) target.path.insert(0, "/");
    if (!take_authority(rest.substr(0, slash), target)) return std::nullopt;
    return target;
  }
  if (!asked.starts_with('/') && asked != "*") return std::nullopt;
  target.path = asked;
  if (head.count(http::field::host) != 1) return std::nullopt;
  if (!take_authority(view(head[http::field::host]), target)) return std::nullopt;
  return target;
}

template <bool kIsRequest>
void drop_hop_by_hop(http::header<kIsRequest, http::fields>& head) {
  const http::token_list named(head[http::field::connection]);
  std::vector<std::string> names;
  for (const auto& name : named) names.emplace_back(name);
  for (const std::string& name : names) {
    // What frames the body is ours to say.
    if (!beast::iequals(name, "transfer-encoding") && !beast::iequals(name, "content-length") &&
        !beast::iequals(name, "host")) {
      head.erase(name);
    }
  }
  for (const http::field field : kHopByHop) head.erase(field);
}

bool wants_websocket(const http::request_header<>& head) {
  return beast::iequals(head[http::field::upgrade], "websocket") &&
         head.method() == http::verb::get;
}

// A message from one side to the other, part by part as it comes. False: one of them is gone.
template <bool kIsRequest>
Task<bool> forward(Connection& connection, Socket& from, beast::flat_buffer& buffer,
                   http::parser<kIsRequest, http::buffer_body>& parser, Socket& to,
                   http::message<kIsRequest, http::buffer_body>& message, std::int64_t& bytes) {
  std::array<char, kBodyPartBytes> part;
  error_code failure;
  http::serializer<kIsRequest, http::buffer_body> serializer(message);
  message.body().data = nullptr;
  message.body().more = true;
  bytes +=
      static_cast<std::int64_t>(co_await http::async_write_header(to, serializer, into(failure)));
  if (failure) co_return false;
  while (!serializer.is_done()) {
    std::size_t got = 0;
    if (!parser.is_done()) {
      parser.get().body().data = part.data();
      parser.get().body().size = part.size();
      co_await http::async_read_some(from, buffer, parser, into(failure));
      if (failure == http::error::need_buffer) failure.clear();
      if (failure) co_return false;
      connection.saw_bytes();
      got = part.size() - parser.get().body().size;
      if (got == 0 && !parser.is_done()) continue;
    }
    message.body().data = got == 0 ? nullptr : part.data();
    message.body().size = got;
    message.body().more = !parser.is_done();
    bytes += static_cast<std::int64_t>(co_await http::async_write(to, serializer, into(failure)));
    if (failure == http::error::need_buffer) failure.clear();
    if (failure) co_return false;
  }
  co_return true;
}

class HttpRelay {
 public:
  HttpRelay(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
            beast::flat_buffer buffer, bool as_proxy)
      : session_(std::move(session)),
        connection_(std::move(connection)),
        buffer_(std::move(buffer)),
        as_proxy_(as_proxy),
        host_(connection_->host) {}

  Task<void> run(std::unique_ptr<HeadParser> head) {
    while (true) {
      if (!head) {
        head = std::make_unique<HeadParser>();
        if (!co_await read_head(*connection_, buffer_, *head)) break;
      }
      connection_->allow_silence(kRequestSilenceMost);
      http::request_parser<http::buffer_body> request(std::move(*head));
      request.body_limit(kNoLimit);
      head.reset();
      if (!co_await serve(request)) break;
      connection_->allow_silence(kNextRequest);
    }
    end_upstream();
    if (!is_joined_) connection_->close();
  }

 private:
  using Request = http::request_parser<http::buffer_body>;

  // Whether another request may follow.
  Task<bool> serve(Request& request) {
    const auto target = target_of(request.get().base(), as_proxy_);
    const std::string refusal = co_await reach(target);
    if (!refusal.empty()) {
      co_await answer_http(*connection_, is_refused_ ? 403 : 502, refusal);
      co_return false;
    }
    const bool is_upgrade = wants_websocket(request.get().base());
    const bool keeps = request.get().keep_alive();
    const unsigned version = request.get().version();
    const bool is_head = request.get().method() == http::verb::head;
    http::request<http::buffer_body> out(std::move(request.get().base()));
    if (beast::iequals(out[http::field::expect], "100-continue")) {
      error_code failure;
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(connection_->client, asio::buffer(kContinue), into(failure));
      out.erase(http::field::expect);
    }
    drop_hop_by_hop<true>(out);
    out.version(11);
    out.target(target->path);
    out.set(http::field::host,
            target->host + (target->port == kHttpPort ? "" : ":" + std::to_string(target->port)));
    if (is_upgrade) {
      out.set(http::field::connection, "Upgrade");
      out.set(http::field::upgrade, "websocket");
    }
    const bool sent = co_await forward<true>(*connection_, connection_->client, buffer_, request,
                                             connection_->upstream, out, connection_->sent);
    co_return co_await answer(is_head, is_upgrade, sent && keeps, version);
  }

  Task<bool> answer(bool is_head, bool is_upgrade, bool keeps, unsigned version) {
    while (true) {
      http::response_parser<http::buffer_body> response;
      response.header_limit(kHeadBytesMax);
      response.body_limit(kNoLimit);
      response.skip(is_head);
      error_code failure;
      co_await http::async_read_header(connection_->upstream, from_host_, response, into(failure));
      if (failure) {
        co_await answer_http(*connection_, 502,
                             "the host ended without an answer: " + failure.message());
        co_return false;
      }
      const unsigned status = response.get().result_int();
      const bool switches = status == 101 && is_upgrade;
      const bool is_interim = status / 100 == 1;
      const bool ends_with_eof = response.need_eof() && !is_head && !is_interim;
      const bool host_keeps = response.keep_alive();
      http::response<http::buffer_body> out(std::move(response.get().base()));
      drop_hop_by_hop<false>(out);
      out.version(11);
      bool stays = keeps;
      if (ends_with_eof && version >= 11) out.chunked(true);
      if (ends_with_eof && version < 11) stays = false;
      if (switches) {
        out.set(http::field::connection, "Upgrade");
        out.set(http::field::upgrade, "websocket");
      } else if (!is_interim) {
        out.keep_alive(stays);
      }
      if (is_interim || is_head) {
        out.body().data = nullptr;
        out.body().more = false;
        http::response_serializer<http::buffer_body> serializer(out);
        serializer.split(true);
        connection_->received += static_cast<std::int64_t>(
            co_await http::async_write_header(connection_->client, serializer, into(failure)));
        if (failure) co_return false;
        if (switches) co_return co_await switch_protocol();
        if (is_interim) continue;
      } else if (!co_await forward<false>(*connection_, connection_->upstream, from_host_, response,
                                          connection_->client, out, connection_->received)) {
        co_return false;
      }
      if (!host_keeps || ends_with_eof) end_upstream();
      co_return stays;
    }
  }

  // From here on nobody looks into it.
  Task<bool> switch_protocol() {
    error_code failure;
    const auto early = from_host_.cdata();
    co_await asio::async_write(connection_->client, early, into(failure));
    const auto rest = buffer_.cdata();
    is_joined_ = true;
    is_open_ = false;
    session_->join(connection_, std::string(static_cast<const char*>(rest.data()), rest.size()));
    co_return false;
  }

  // Connects to it where we are not; the reason why not.
  Task<std::string> reach(const std::optional<Target>& target) {
    is_refused_ = true;
    if (!target) {
      const std::string reason = "the request does not say which host it is for, or says it twice";
      session_->refuse(host_, connection_->port, reason);
      co_return reason;
    }
    if (!as_proxy_ && !host_.empty() && target->host != host_) {
      const std::string reason = "the client asks this host for another one: " + target->host;
      session_->refuse(host_, connection_->port, reason);
      co_return reason;
    }
    const std::uint16_t port = as_proxy_ ? target->port : connection_->port;
    if (!session_->allows(target->host, port)) {
      const std::string reason = Session::words_of_refusal(target->host);
      session_->refuse(target->host, port, reason);
      co_return target->host + ":" + std::to_string(port) + " is " + reason;
    }
    is_refused_ = false;
    if (is_open_ && connection_->host == target->host && connection_->port == port) co_return "";
    end_upstream();
    connection_->host = target->host;
    connection_->port = port;
    std::string reason = co_await session_->open(*connection_);
    is_open_ = reason.empty();
    co_return reason;
  }

  void end_upstream() {
    if (!is_open_) return;
    is_open_ = false;
    error_code unused;
    connection_->upstream.close(unused);
    from_host_.clear();
    session_->tell_closed(*connection_);
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<Connection> connection_;
  beast::flat_buffer buffer_;
  beast::flat_buffer from_host_;
  const bool as_proxy_;
  const std::string host_;  // of a connection without a proxy; empty: as the requests say
  bool is_open_ = false;
  bool is_refused_ = false;
  bool is_joined_ = false;
};

}  // namespace

Task<bool> read_head(Connection& connection, beast::flat_buffer& buffer, HeadParser& parser) {
  parser.header_limit(kHeadBytesMax);
  parser.body_limit(kNoLimit);
  error_code failure;
  co_await http::async_read_header(connection.client, buffer, parser, into(failure));
  if (!failure) co_return true;
  if (failure.category() == http::make_error_code(http::error::bad_method).category() &&
      failure != http::error::end_of_stream) {
    co_await answer_http(connection, 400, "this is no HTTP: " + failure.message());
  }
  co_return false;
}

Task<void> answer_http(Connection& connection, unsigned status, std::string reason) {
  std::replace_if(
      reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; },
      ' ');
  const std::string body = reason + "\n";
  const std::string reply =
      "HTTP/1.1 " + std::to_string(status) + " " + reason +
      "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\nConnection: close\r\n\r\n" + body;
  error_code unused;
  co_await asio::async_write(connection.client, asio::buffer(reply), into(unused));
  connection.client.shutdown(Socket::shutdown_send, unused);
}

Task<void> relay_http(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                      beast::flat_buffer buffer, std::unique_ptr<HeadParser> first) {
  HttpRelay relay(std::move(session), std::move(connection), std::move(buffer), first != nullptr);
  co_await relay.run(std::move(first));
}

}  // namespace sandbox::egress
