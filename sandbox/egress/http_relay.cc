#include "sandbox/egress/http_relay.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "sandbox/egress/http_credential.h"
#include "sandbox/egress/http_destination.h"
#include "sandbox/egress/http_download.h"
#include "sandbox/egress/http_forward.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/http_loan.h"
#include "sandbox/egress/http_override.h"
#include "sandbox/egress/session.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// Not boost::none, which Boost 1.74 takes for less than any length.
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
constexpr std::chrono::seconds kRequestSilenceMost{300};
constexpr std::chrono::seconds kAnswerSilenceMost{3600};
constexpr std::chrono::seconds kNextRequest{60};
constexpr unsigned kOk = 200;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

bool is_safe(http::verb method) {  // RFC 9110 9.2.1
  return method == http::verb::get || method == http::verb::head || method == http::verb::options;
}

class HttpRelay {
 public:
  HttpRelay(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
            beast::flat_buffer buffer, bool as_proxy)
      : session_(std::move(session)),
        connection_(std::move(connection)),
        buffer_(std::move(buffer)),
        destination_(
            session_, connection_,
            as_proxy ? HttpDestination::Requests::kOfProxy : HttpDestination::Requests::kOneByOne),
        as_proxy_(as_proxy) {
    connection_->looked_into = true;
  }

  Task<void> run(std::unique_ptr<HeadParser> head) {
    while (true) {
      if (!head) {
        head = std::make_unique<HeadParser>();
        if (!co_await read_head(*connection_, buffer_, *head)) break;
      }
      http::request_parser<http::buffer_body> request(std::move(*head));
      request.body_limit(kNoLimit);
      head.reset();
      if (!co_await serve(request)) break;
      // A connection between two requests holds no memory for them.
      loan_.reset();
      buffer_.shrink_to_fit();
      destination_.from_host.shrink_to_fit();
      connection_->allow_silence(kNextRequest);
    }
    destination_.end();
    if (is_joined_) co_return;
    co_await connection_->end_client();
    connection_->close();
  }

 private:
  // Asked holds all that the answer to a request depends on.
  struct Asked {
    bool is_upgrade;
    bool is_head;
    bool is_safe;
    bool keeps;
    unsigned version;
  };
  enum class Answered { kGoesOn, kLast, kNothing };
  using Request = http::request_parser<http::buffer_body>;

  // Returns whether another request may follow.
  Task<bool> serve(Request& request) {
    co_await session_->pace();
    const auto target = target_of(request.get().base(), as_proxy_);
    const auto framing = framing_of<true>(request.get().base());
    if (!framing) {
      co_await answer_http(*connection_, 400, "the request says in two ways where it ends");
      co_return false;
    }
    const std::string refusal = destination_.admit(target, view(request.get().method_string()));
    if (!refusal.empty()) {
      co_await answer_http(*connection_, 403, refusal);
      co_return false;
    }
    Asked asked{.is_upgrade = wants_websocket(request.get().base()),
                .is_head = request.get().method() == http::verb::head,
                .is_safe = is_safe(request.get().method()),
                .keeps = request.get().keep_alive(),
                .version = request.get().version()};
    co_await ask_for_body(request);
    auto out = onward(request, *framing, asked, target->path);
    const bool asks_host = wants_host_asked(out);
    const bool may_be_kept = connection_->client.is_secure() &&
                             session_->keeps(connection_->host) && HttpDownload::begin(out);
    status_ = 0;
    loan_.emplace(*session_, *connection_);
    const std::string unlent = co_await loan_->add(request, buffer_, out);
    if (!unlent.empty()) {
      session_->refuse(connection_->host, connection_->port, unlent);
      co_await answer_http(*connection_, 403, unlent);
      co_return false;
    }
    RequestNote note(*connection_, view(out.method_string()), target->path);
    download_.reset();
    if (may_be_kept) {
      download_.emplace(session_->downloads(), *connection_, target->path, loan_->name(), out,
                        asks_host);
      if (download_->is_fresh()) co_return co_await send_kept(note, asked);
      download_->ask_whether_changed(out);
    }
    // A connection that has served before may have been ended by the host just now.
    bool may_repeat = destination_.is_open() && request.is_done() && asked.is_safe;
    const std::string unreached = co_await destination_.open();
    if (!unreached.empty()) {
      if (download_ && download_->will_do()) co_return co_await send_kept(note, asked);
      co_await answer_http(*connection_, 502, unreached);
      co_return false;
    }
    session_->begin_request(*connection_, note, loan_->name());
    while (true) {
      const Answered answered = co_await exchange(request, out, asked);
      if (answered != Answered::kNothing) {
        Session::end_request(note, status_, was_kept());
        co_return answered == Answered::kGoesOn;
      }
      if (!std::exchange(may_repeat, false)) break;
      destination_.end();
      if (!(co_await destination_.open()).empty()) break;
    }
    Session::end_request(note, 0, false);
    co_await answer_http(*connection_, 502, "the host ended without an answer");
    co_return false;
  }

  Task<void> ask_for_body(const Request& request) {
    if (!beast::iequals(request.get()[http::field::expect], "100-continue")) co_return;
    error_code failure;
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(connection_->client, asio::buffer(kContinue), into(failure));
  }

  // Makes the request that goes to the host; the body is left in `request`.
  http::request<http::buffer_body> onward(Request& request, const Framing& framing,
                                          const Asked& asked, const std::string& path) {
    http::request<http::buffer_body> out(std::move(request.get().base()));
    out.erase(http::field::expect);
    drop_hop_by_hop<true>(out);
    if (session_->limits_requests_of(*connection_)) drop_overrides(out);
    if (framing.chunked) out.chunked(true);
    if (framing.length) out.content_length(*framing.length);
    out.version(11);
    out.target(path);
    out.set(http::field::host, destination_.shown());
    if (asked.is_upgrade) {
      out.set(http::field::connection, "Upgrade");
      out.set(http::field::upgrade, "websocket");
    }
    return out;
  }

  [[nodiscard]] bool was_kept() const { return download_ && download_->was_sent(); }

  // Returns whether another request may follow.
  Task<bool> send_kept(RequestNote& note, Asked asked) {
    connection_->allow_silence(kAnswerSilenceMost);
    session_->begin_request(*connection_, note, loan_->name());
    const bool is_whole = co_await download_->send(*connection_, asked.keeps);
    Session::end_request(note, kOk, true);
    co_return is_whole&& asked.keeps;
  }

  Task<Answered> exchange(Request& request, http::request<http::buffer_body>& out, Asked asked) {
    connection_->allow_silence(kRequestSilenceMost);
    Forwarded sent = Forwarded::kWhole;
    if (loan_->has_body()) {
      sent = co_await loan_->send(out);
    } else {
      sent = co_await forward<true>(*connection_, connection_->client, buffer_, request,
                                    connection_->upstream, out, connection_->sent);
    }
    if (sent == Forwarded::kSenderGone) co_return Answered::kLast;
    // A host that takes no more of it may have said why.
    asked.keeps = asked.keeps && sent == Forwarded::kWhole;
    connection_->allow_silence(kAnswerSilenceMost);
    connection_->watch_client();
    const Answered answered = co_await answer(asked);
    if (!is_joined_) connection_->leave_client();
    co_return answered;
  }

  static bool switches_protocol(unsigned status, const Asked& asked) {
    return status == 101 && asked.is_upgrade;
  }

  // Gives the answer a framing of our own that its client understands. Returns whether the client's
  // connection may have another request behind it.
  static bool frame_answer(const Framing& framing, const Asked& asked, bool has_body,
                           http::response<http::buffer_body>& out) {
    const unsigned status = out.result_int();
    const bool is_interim = status / 100 == 1;
    bool stays = asked.keeps;
    out.version(11);
    if (has_body && !framing.length) {
      if (asked.version >= 11) out.chunked(true);
      if (asked.version < 11) stays = false;
    } else if (!is_interim && status != 204 && framing.length) {
      out.content_length(*framing.length);
    }
    if (switches_protocol(status, asked)) {
      out.set(http::field::connection, "Upgrade");
      out.set(http::field::upgrade, "websocket");
    } else if (!is_interim) {
      out.keep_alive(stays);
    }
    return stays;
  }

  Task<Answered> answer(Asked asked) {
    int interim_answers = 0;
    while (true) {
      http::response_parser<http::buffer_body> response;
      response.header_limit(kHeadBytesMax);
      response.body_limit(kNoLimit);
      response.skip(asked.is_head);
      error_code failure;
      co_await http::async_read_header(connection_->upstream, destination_.from_host, response,
                                       into(failure));
      const auto framing = framing_of<false>(response.get().base());
      if (failure == http::error::end_of_stream || failure == asio::error::connection_reset) {
        co_return Answered::kNothing;
      }
      if (failure || !framing) {
        std::string reason = "the host's answer says in two ways where it ends";
        if (failure) reason = "the host's answer is none: " + failure.message();
        co_await answer_http(*connection_, 502, reason);
        co_return Answered::kLast;
      }
      const unsigned status = response.get().result_int();
      status_ = status;
      const bool is_interim = status / 100 == 1;
      if (is_interim && ++interim_answers > kInterimAnswersMost) {
        co_await answer_http(*connection_, 502, "the host gives interim answers without an end");
        co_return Answered::kLast;
      }
      const bool has_body = !asked.is_head && !is_interim && status != 204 && status != 304;
      const bool ends_with_eof = has_body && response.need_eof();
      const bool host_keeps = response.keep_alive();
      http::response<http::buffer_body> out(std::move(response.get().base()));
      drop_hop_by_hop<false>(out);
      if (has_body && loan_->is_told() && is_unreadable(out)) {
        co_await answer_http(*connection_, 502, kUnreadableAnswer);
        co_return Answered::kLast;
      }
      if (loan_->redactor() != nullptr) redact_head(*loan_->redactor(), out);
      if (download_ && !is_interim && download_->take_answer(out)) {
        if (!host_keeps) destination_.end();
        status_ = kOk;
        const bool is_whole = co_await download_->send(*connection_, asked.keeps);
        co_return is_whole&& asked.keeps ? Answered::kGoesOn : Answered::kLast;
      }
      const bool stays = frame_answer(*framing, asked, has_body, out);
      if (!has_body) {
        if (!co_await write_head(out)) co_return Answered::kLast;
        if (switches_protocol(status, asked)) {
          co_await switch_protocol();
          co_return Answered::kLast;
        }
        if (is_interim) continue;
      } else if (co_await forward<false>(*connection_, connection_->upstream,
                                         destination_.from_host, response, connection_->client, out,
                                         connection_->received, loan_->redactor(),
                                         download()) != Forwarded::kWhole) {
        co_return Answered::kLast;
      }
      if (download_) download_->finish();
      if (!host_keeps || ends_with_eof) destination_.end();
      co_return stays ? Answered::kGoesOn : Answered::kLast;
    }
  }

  HttpDownload* download() { return download_ ? &*download_ : nullptr; }

  Task<bool> write_head(http::response<http::buffer_body>& out) {
    out.body().data = nullptr;
    out.body().more = false;
    http::response_serializer<http::buffer_body> serializer(out);
    serializer.split(true);
    error_code failure;
    connection_->received += static_cast<std::int64_t>(
        co_await http::async_write_header(connection_->client, serializer, into(failure)));
    co_return !failure;
  }

  // From here on nobody looks into it.
  Task<void> switch_protocol() {
    error_code failure;
    const auto early = destination_.from_host.cdata();
    connection_->received += static_cast<std::int64_t>(
        co_await asio::async_write(connection_->client, early, into(failure)));
    if (failure) co_return;
    const auto rest = buffer_.cdata();
    connection_->leave_client();
    is_joined_ = true;
    destination_.hand_over();
    connection_->looked_into = false;
    session_->tell_opened(*connection_);
    session_->join(connection_, std::string(static_cast<const char*>(rest.data()), rest.size()));
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<Connection> connection_;
  beast::flat_buffer buffer_;
  HttpDestination destination_;
  // `loan_`, `download_` and `status_` belong to the request that is being served.
  std::optional<HttpLoan> loan_;
  std::optional<HttpDownload> download_;
  unsigned status_ = 0;
  const bool as_proxy_;
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
  co_await connection.end_client();
}

Task<void> relay_http(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection,
                      beast::flat_buffer buffer, std::unique_ptr<HeadParser> first) {
  HttpRelay relay(std::move(session), std::move(connection), std::move(buffer), first != nullptr);
  co_await relay.run(std::move(first));
}

}  // namespace sandbox::egress
