#include "sandbox/egress/http2_relay.h"

#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>

#include "sandbox/egress/http2_exchange.h"
#include "sandbox/egress/http2_head.h"
#include "sandbox/egress/http_credential.h"
#include "sandbox/egress/http_destination.h"
#include "sandbox/egress/http_head.h"
#include "sandbox/egress/http_override.h"

namespace sandbox::egress {
namespace {

namespace http = boost::beast::http;

constexpr std::chrono::seconds kSilenceWithRequests{3600};
constexpr std::chrono::seconds kSilenceWithout{60};
constexpr std::chrono::seconds kLastBytes{3};
// A client has at most kRequestsAtOnceMost requests open, but those that it has taken back may
// still wait for a credential or for the host.
constexpr std::size_t kBegunMost = std::size_t{4} * Http2Side::kRequestsAtOnceMost;

using Exchange = std::shared_ptr<Http2Exchange>;

class Http2Relay : public std::enable_shared_from_this<Http2Relay> {
 public:
  Http2Relay(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection)
      : session_(std::move(session)),
        connection_(std::move(connection)),
        destination_(session_, connection_, HttpDestination::Requests::kAtOnce),
        opened_(connection_->client.get_executor(), asio::steady_timer::time_point::max()),
        client_(Http2Side::Role::kServer, *connection_, connection_->client, connection_->received,
                from_client_),
        host_(Http2Side::Role::kClient, *connection_, connection_->upstream, connection_->sent,
              from_host_) {
    connection_->looked_into = true;
  }

  Task<void> run() {
    connection_->allow_silence(kSilenceWithout);
    start(client_.write(), [](Http2Relay& self) { self.finish_client(); });
    co_await client_.read();
    end();
  }

 private:
  // Streams are numbered by each side for itself: these two tell them apart.
  struct FromClient final : Http2Side::Receiver {
    explicit FromClient(Http2Relay& owner) : relay(owner) {}
    void take_head(std::int32_t id, Http2Fields fields, bool is_last) override {
      relay.take_request(id, std::move(fields), is_last);
    }
    void take_data(std::int32_t id, std::string_view part) override {
      relay.take_request_data(id, part);
    }
    void take_end(std::int32_t id) override { relay.end_request(id); }
    void take_close(std::int32_t id, std::uint32_t error) override {
      relay.take_client_close(id, error);
    }
    void take_farewell() override {}
    Http2Relay& relay;
  };
  struct FromHost final : Http2Side::Receiver {
    explicit FromHost(Http2Relay& owner) : relay(owner) {}
    void take_head(std::int32_t id, Http2Fields fields, bool is_last) override {
      relay.take_answer(id, fields, is_last);
    }
    void take_data(std::int32_t id, std::string_view part) override {
      relay.take_answer_data(id, part);
    }
    void take_end(std::int32_t id) override { relay.end_answer(id); }
    void take_close(std::int32_t id, std::uint32_t error) override {
      relay.take_host_close(id, error);
    }
    void take_farewell() override { relay.say_farewell(); }
    Http2Relay& relay;
  };
  enum class Reached { kNot, kSoon, kYes, kNever };

  // Runs beside the others; all of them hold on to this.
  void start(Task<void> task, void (*then)(Http2Relay&)) {
    asio::co_spawn(connection_->client.get_executor(), std::move(task),
                   [self = shared_from_this(), then](const std::exception_ptr& failure) {
                     if (failure) return self->end();
                     if (then != nullptr) then(*self);
                   });
  }

  void end() {
    if (std::exchange(is_over_, true)) return;
    client_.close();
    host_.close();
    opened_.cancel();
    connection_->close();
    waiting_.clear();
    for (const auto& [id, exchange] : by_client_) tell_end(*exchange);
    if (was_opened_) session_->tell_closed(*connection_);
  }

  // All has been sent; what a client says yet is read, or it would lose what has not come to it.
  void finish_client() {
    if (is_over_) return;
    connection_->allow_silence(kLastBytes);
    error_code unused;
    connection_->client.socket().shutdown(Socket::shutdown_send, unused);
  }

  static Exchange find(const std::map<std::int32_t, Exchange>& among, std::int32_t id) {
    const auto found = among.find(id);
    return found == among.end() ? nullptr : found->second;
  }

  // The functions from here on handle what comes from the client.

  void take_request(std::int32_t id, Http2Fields fields, bool is_last) {
    if (const Exchange known = find(by_client_, id)) {
      if (session_->limits_requests_of(*connection_)) drop_overrides(fields);
      known->request.trailers = std::move(fields);
      return end_request(id);
    }
    if (says_farewell_) return client_.reset(id, NGHTTP2_REFUSED_STREAM);
    if (begun_ + by_host_.size() >= kBegunMost) {
      return client_.reset(id, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    const auto exchange = std::make_shared<Http2Exchange>(id);
    exchange->request.is_whole = is_last;
    exchange->request.taken = [this, id, raw = exchange.get()](std::size_t bytes) {
      raw->sent += static_cast<std::int64_t>(bytes);
      client_.consume(id, bytes);
    };
    by_client_[id] = exchange;
    if (reached_ != Reached::kSoon) connection_->allow_silence(kSilenceWithRequests);
    exchange->fields = std::move(fields);
    waiting_.push_back(exchange);
    if (!std::exchange(is_pacing_, true)) start(begin_in_turn(), nullptr);
  }

  // One after another: those that are taken back meanwhile are none.
  Task<void> begin_in_turn() {
    while (!waiting_.empty()) {
      co_await session_->pace();
      if (waiting_.empty()) break;
      const Exchange next = waiting_.front();
      waiting_.pop_front();
      ++begun_;
      start(serve(next), [](Http2Relay& self) { --self.begun_; });
    }
    is_pacing_ = false;
  }

  void take_request_data(std::int32_t id, std::string_view part) {
    const Exchange exchange = find(by_client_, id);
    if (!exchange || exchange->drops_request) return client_.consume(id, part.size());
    exchange->request.bytes.append(part);
    exchange->request.ready = exchange->request.size();
    if (exchange->has_host) host_.go_on(exchange->host_id, exchange->request);
  }

  void end_request(std::int32_t id) {
    const Exchange exchange = find(by_client_, id);
    if (!exchange) return;
    exchange->request.is_whole = true;
    if (exchange->has_host) host_.go_on(exchange->host_id, exchange->request);
  }

  void take_client_close(std::int32_t id, std::uint32_t error) {
    const Exchange exchange = find(by_client_, id);
    if (!exchange) return;
    exchange->has_client = false;
    const bool is_unsent = !exchange->request.is_whole || exchange->request.size() > 0;
    drop_request(*exchange);
    if (exchange->host_id > 0) host_.consume(exchange->host_id, exchange->answer.size());
    if (exchange->has_host &&
        (is_unsent || !exchange->answer.is_whole || error != NGHTTP2_NO_ERROR)) {
      host_.reset(exchange->host_id, NGHTTP2_CANCEL);
    }
    by_client_.erase(id);
    std::erase(waiting_, exchange);
    tell_end(*exchange);
    if (by_client_.empty()) connection_->allow_silence(kSilenceWithout);
  }

  void drop_request(Http2Exchange& exchange) {
    exchange.drops_request = true;
    client_.consume(exchange.client_id, exchange.request.size());
    exchange.request.drop();
  }

  Task<void> serve(Exchange exchange) {
    auto head = request_in(std::exchange(exchange->fields, {}));
    if (!head) co_return refuse(*exchange, 400, "this is no request for this host");
    exchange->is_grpc = is_grpc(*head);
    exchange->is_head = head->method() == http::verb::head;
    const auto target = target_of(*head, false);
    const auto method = head->method_string();
    const std::string refusal = destination_.admit(target, {method.data(), method.size()});
    if (!refusal.empty()) co_return refuse(*exchange, 403, refusal);
    if (session_->limits_requests_of(*connection_)) drop_overrides(*head);
    head->set(http::field::host, destination_.shown());
    exchange->note.emplace(*connection_, std::string_view(method.data(), method.size()),
                           target->path);
    exchange->loan.emplace(*session_, *connection_);
    const std::string unlent = co_await exchange->loan->add(*head);
    if (!unlent.empty()) {
      session_->refuse(connection_->host, connection_->port, unlent);
      co_return refuse(*exchange, 403, unlent);
    }
    // Messages within gRPC may be compressed too.
    if (exchange->redactor() != nullptr) head->set("grpc-accept-encoding", "identity");
    if (!exchange->has_client || is_over_) co_return;
    const std::string unreached = co_await reach();
    if (!exchange->has_client || is_over_) co_return;
    if (!unreached.empty()) co_return refuse(*exchange, 502, unreached);
    const bool has_body = !exchange->request.is_whole || exchange->request.size() > 0 ||
                          !exchange->request.trailers.empty();
    session_->begin_request(*connection_, *exchange->note, exchange->loan->name(),
                            [raw = exchange.get()] {
                              return Underway::Carried{raw->sent, raw->received};
                            });
    const Http2Fields out = fields_of(*head);
    exchange->sent += size_of(out);
    exchange->host_id = host_.request(out, has_body ? &exchange->request : nullptr);
    if (exchange->host_id < 1) co_return refuse(*exchange, 502, "the host takes no more requests");
    exchange->has_host = true;
    by_host_[exchange->host_id] = exchange;
  }

  // Connects to the host, once; why it cannot be had, which has been told of.
  Task<std::string> reach() {
    while (reached_ == Reached::kSoon && !is_over_) {
      error_code unused;
      co_await opened_.async_wait(into(unused));
    }
    if (reached_ != Reached::kNot || is_over_) co_return unreached_;
    reached_ = Reached::kSoon;
    unreached_ = co_await destination_.open();
    reached_ = unreached_.empty() ? Reached::kYes : Reached::kNever;
    opened_.cancel();
    if (is_over_) {
      if (unreached_.empty()) session_->tell_closed(*connection_);
      co_return "the client has gone";
    }
    connection_->allow_silence(by_client_.empty() ? kSilenceWithout : kSilenceWithRequests);
    if (!unreached_.empty()) {
      say_farewell();
      co_return unreached_;
    }
    was_opened_ = true;
    start(host_.write(), [](Http2Relay& self) { self.lose_host(); });
    start(host_.read(), [](Http2Relay& self) { self.lose_host(); });
    co_return "";
  }

  // An answer of the door's own.
  void refuse(Http2Exchange& exchange, unsigned status, std::string_view reason) {
    drop_request(exchange);
    exchange.is_answered = true;
    exchange.status = status;
    Http2Body& body = exchange.answer;
    const Http2Fields head = own_answer(exchange.is_grpc, status, reason, body.bytes);
    if (exchange.is_head) body.bytes.clear();
    exchange.end_answer();
    client_.answer(exchange.client_id, head, body.bytes.empty() ? nullptr : &body);
  }

  // The functions from here on handle what comes from the host.

  void take_answer(std::int32_t id, const Http2Fields& fields, bool is_last) {
    const Exchange exchange = find(by_host_, id);
    if (!exchange || !exchange->has_client) return;
    auto head = answer_in(fields);
    if (exchange->redactor() != nullptr) {
      if (is_unreadable(head)) {
        host_.reset(id, NGHTTP2_CANCEL);
        return refuse(*exchange, 502, kUnreadableAnswer);
      }
      redact_head(*exchange->redactor(), head);
    }
    Http2Fields out = fields_of(head);
    exchange->received += size_of(out);
    if (exchange->is_answered) {
      out.erase(out.begin());  // trailers have no status
      exchange->answer.trailers = std::move(out);
      return end_answer(id);
    }
    const unsigned status = head.result_int();
    if (status / 100 == 1) {
      if (++exchange->interim_answers > kInterimAnswersMost) {
        return host_.reset(id, NGHTTP2_ENHANCE_YOUR_CALM);
      }
      return client_.answer_interim(exchange->client_id, out);
    }
    exchange->is_answered = true;
    exchange->status = status;
    exchange->answer.is_whole = is_last;
    exchange->answer.taken = [this, id, raw = exchange.get()](std::size_t bytes) {
      raw->received += static_cast<std::int64_t>(bytes);
      host_.consume(id, bytes);
    };
    client_.answer(exchange->client_id, out, is_last ? nullptr : &exchange->answer);
  }

  void take_answer_data(std::int32_t id, std::string_view part) {
    const Exchange exchange = find(by_host_, id);
    if (!exchange || !exchange->has_client || exchange->answer.is_whole) {
      return host_.consume(id, part.size());
    }
    exchange->add_to_answer(part);
    client_.go_on(exchange->client_id, exchange->answer);
  }

  void end_answer(std::int32_t id) {
    const Exchange exchange = find(by_host_, id);
    if (!exchange || !exchange->has_client) return;
    exchange->end_answer();
    client_.go_on(exchange->client_id, exchange->answer);
  }

  void take_host_close(std::int32_t id, std::uint32_t error) {
    const Exchange exchange = find(by_host_, id);
    if (!exchange) return;
    exchange->has_host = false;
    by_host_.erase(id);
    if (!exchange->has_client) return;
    drop_request(*exchange);
    if (!exchange->answer.is_whole) {
      client_.reset(exchange->client_id,
                    error == NGHTTP2_NO_ERROR ? std::uint32_t{NGHTTP2_INTERNAL_ERROR} : error);
    }
  }

  void say_farewell() {
    if (!std::exchange(says_farewell_, true)) client_.say_farewell();
  }

  // Its connection has ended, or is of no use any more.
  void lose_host() {
    if (is_over_ || std::exchange(reached_, Reached::kNever) == Reached::kNever) return;
    unreached_ = "the host has ended the connection";
    host_.close();
    connection_->upstream.close();
    say_farewell();
    for (const auto& [id, exchange] : std::exchange(by_host_, {})) {
      exchange->has_host = false;
      if (!exchange->has_client) continue;
      drop_request(*exchange);
      if (exchange->answer.is_whole) continue;
      if (!exchange->is_answered) {
        refuse(*exchange, 502, "the host ended without an answer");
      } else {
        client_.reset(exchange->client_id, NGHTTP2_INTERNAL_ERROR);
      }
    }
  }

  static void tell_end(Http2Exchange& exchange) {
    if (exchange.note) Session::end_request(*exchange.note, exchange.status, false);
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<Connection> connection_;
  HttpDestination destination_;
  FromClient from_client_{*this};
  FromHost from_host_{*this};
  asio::steady_timer opened_;
  std::map<std::int32_t, Exchange> by_client_;
  std::map<std::int32_t, Exchange> by_host_;
  Http2Side client_;
  Http2Side host_;
  std::string unreached_;
  std::deque<Exchange> waiting_;  // for their turn
  std::size_t begun_ = 0;
  bool is_pacing_ = false;
  bool was_opened_ = false;
  Reached reached_ = Reached::kNot;
  bool says_farewell_ = false;
  bool is_over_ = false;
};

}  // namespace

Task<void> relay_http2(std::shared_ptr<Session> session, std::shared_ptr<Connection> connection) {
  const auto relay = std::make_shared<Http2Relay>(std::move(session), std::move(connection));
  co_await relay->run();
}

}  // namespace sandbox::egress
