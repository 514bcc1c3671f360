#include "mcp/http/legacy_sse.h"

#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "mcp/http/door.h"
#include "mcp/http/post_exchange.h"
#include "mcp/http/sse.h"
#include "mcp/inbound.h"

namespace mcp::http {

using nlohmann::json;

namespace {

constexpr std::size_t kSmallBytes = 64U << 10;
constexpr const char* kSessionParameter = "sessionId";

// Every answer goes out on the one stream. It cannot be resumed, so nothing is kept for that.
class StreamExchange final : public Exchange {
 public:
  StreamExchange(std::shared_ptr<Stream> stream, std::shared_ptr<const void> held,
                 std::string request_id)
      : stream_(std::move(stream)), held_(std::move(held)), request_id_(std::move(request_id)) {}
  void send(const json& message) override {
    std::string event = message_event(print(message));
    // All answers share the one stream: several large ones at once would be its end.
    (void)(event.size() > kSmallBytes ? stream_->send_patiently(std::move(event))
                                      : stream_->send(std::move(event)));
  }
  void send_if_room(const json& message) override {
    if (stream_->has_room()) (void)stream_->send(message_event(print(message)));
  }
  [[nodiscard]] std::string request_id() const override { return request_id_; }
  void end() noexcept override {}

 private:
  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<const void> held_;
  const std::string request_id_;
};

// The log of such a session has one reader, and nothing to resume.
struct SseSession final : LegacySession {
  std::shared_ptr<Stream> stream;
};

}  // namespace

LegacySse::LegacySse(TransportParts parts)
    : parts_(std::move(parts)),
      sessions_(std::make_shared<LegacySessions>(parts_.session_limits, parts_.session_ended)) {}

Response LegacySse::open(const Request& request) {
  if (sessions_->count() >= parts_.session_limits.sessions) {
    return refuse_for_now("too many sessions: try again later");
  }
  Response response = stream_response();
  response.start_stream = [this, table = sessions_,
                           principal = request.principal](const std::shared_ptr<Stream>& stream) {
    const auto session = std::make_shared<SseSession>();
    session->id = base::random_id("");
    session->connection_id = base::random_id("connection_");
    session->principal = principal;
    session->stream = stream;
    session->log = std::make_shared<EventLog>(EventLog::Limits{.bytes = 0, .streams = 0});
    session->log->attach({EventLog::kUnsolicited, 0}, stream, false);
    Connection::Options options = connection_options(parts_, principal);
    options.id = session->connection_id;
    options.unsolicited = [stream](const json& message) {
      if (stream->has_room()) (void)stream->send(message_event(print(message)));
    };
    session->connection =
        make_connection(parts_.server, std::move(options), parts_.run, parts_.session_ended);
    if (!table->add(session)) return stream->close();
    parts_.keep_alive.add(stream);
    // Without its stream the session can say nothing any more.
    stream->on_gone([table, id = session->id] { table->remove(id); });
    (void)stream->send(
        endpoint_event(std::string(kPostPath) + "?" + kSessionParameter + "=" + session->id));
  };
  return response;
}

Response LegacySse::post(const Request& request) {
  const auto id = request.query.find(kSessionParameter);
  if (id == request.query.end()) return refuse(400, "sessionId is missing: open /sse first");
  const auto found = sessions_->find(id->second, request.principal);
  if (found == nullptr) return refuse(404, "no such session: open /sse again");
  if (!content_is_json(request)) return refuse(415, "Content-Type must be application/json");
  auto held = FairBudget::take(parts_.open_messages, request.principal.id, request.body.size());
  if (held == nullptr)
    return refuse_for_now("too many large requests at once: wait for one to end");
  const auto exchange = std::make_shared<StreamExchange>(
      static_cast<const SseSession&>(*found).stream, std::move(held), request.id);
  auto read = read_inbound(request.body);
  if (auto* error = std::get_if<RpcError>(&read)) return error_response(400, std::move(*error));
  auto& inbound = std::get<Inbound>(read);
  if (auto refusal = refuse_unauthorized(parts_, request, inbound)) return std::move(*refusal);
  if (has_modern_claim(inbound)) {
    return refuse(400, "this transport is for revisions with initialize: use /mcp");
  }
  found->connection->receive(std::move(inbound), exchange);
  Response response;
  response.status = 202;
  response.content_type = "text/plain";
  response.body = "Accepted";
  return response;
}

}  // namespace mcp::http
