#include "mcp/http/streamable.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "base/random_id.h"
#include "mcp/handlers.h"
#include "mcp/http/door.h"
#include "mcp/http/modern_headers.h"
#include "mcp/methods.h"
#include "mcp/request_meta.h"
#include "mcp/wire/revision.h"

namespace mcp::http {

using nlohmann::json;

namespace {

constexpr const char* kSessionHeader = "Mcp-Session-Id";
constexpr const char* kVersionHeader = "MCP-Protocol-Version";
constexpr const char* kResumeHeader = "Last-Event-ID";

// Clients of the modern era read the status before the body.
int status_of(const json& answer) {
  const auto error = answer.find("error");
  if (error == answer.end()) return 200;
  switch (error->value("code", 0)) {
    case kMethodNotFound:
      return 404;
    case kHeaderMismatch:
    case kMissingClientCapability:
    case kUnsupportedProtocolVersion:
    case kInvalidRequest:
      return 400;
    default:
      return 200;
  }
}

const Message* single(const Inbound& inbound) {
  return inbound.is_batch ? nullptr : std::get_if<Message>(&inbound.items.front());
}

bool is_request(const Message* message) {
  return message != nullptr && message->kind == Message::Kind::kRequest;
}

bool has_request(const Inbound& inbound) {
  return std::any_of(inbound.items.begin(), inbound.items.end(), [](const Inbound::Item& item) {
    return std::holds_alternative<RpcError>(item) || is_request(std::get_if<Message>(&item));
  });
}

bool has_error(const Inbound& inbound) {
  return std::any_of(inbound.items.begin(), inbound.items.end(), [](const Inbound::Item& item) {
    return std::holds_alternative<RpcError>(item);
  });
}

// Clients older than this choke on an event without data.
bool wants_priming(const LegacySession& session) {
  const wire::Format* format = session.connection->legacy_format();
  return format != nullptr && format->revision >= wire::Revision::k2025_11_25;
}

Response method_not_allowed() {
  Response response = refuse(405, "this endpoint takes POST");
  response.headers.emplace_back("Allow", "POST");
  return response;
}

// In the words of an answer: there is a request that waits for one.
Response too_busy(const json& id) {
  Response response = error_response(
      503, {kInternalError, "too many large requests at once: wait for one to end", nullptr, id});
  add_retry_after(response);
  return response;
}

// To an event source: do not come again.
Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

Response accepted() {
  Response response;
  response.status = 202;
  return response;
}

}  // namespace

Streamable::Streamable(TransportParts parts)
    : parts_(std::move(parts)), sessions_(parts_.session_limits, parts_.session_ended) {}

std::optional<json> Streamable::wait(PostExchange& exchange) {
  const bool patient = ++waiting_ <= parts_.json_waiters;
  auto answer = exchange.wait(patient ? parts_.json_patience : std::chrono::milliseconds(0));
  --waiting_;
  return answer;
}

Response Streamable::answer(const Request& request) {
  if (request.method == "POST") return post(request);
  // The modern era has neither of these, and no sessions.
  const bool legacy = request.has_header(kSessionHeader) && !header_is_modern(request);
  if (legacy && request.method == "GET") return get(request);
  if (legacy && request.method == "DELETE") return remove(request);
  return method_not_allowed();
}

Response Streamable::post(const Request& request) {
  if (!accepts_both(request)) {
    return refuse(406, "Accept must list application/json and text/event-stream");
  }
  if (!content_is_json(request)) return refuse(415, "Content-Type must be application/json");
  auto read = read_inbound(request.body);
  if (auto* error = std::get_if<RpcError>(&read)) return error_response(400, std::move(*error));
  auto& inbound = std::get<Inbound>(read);
  if (auto refusal = refuse_unauthorized(parts_, request, inbound)) return std::move(*refusal);
  if (inbound.is_batch && (has_modern_claim(inbound) || has_error(inbound))) {
    return error_response(400, {kInvalidRequest,
                                has_error(inbound) ? "the batch holds what is no message"
                                                   : "this protocol revision has no batches",
                                nullptr, nullptr});
  }
  const Message* message = single(inbound);
  if (message != nullptr && message->kind == Message::Kind::kNotification) {
    const bool modern = claims_revision(message->params) || header_is_modern(request);
    if (modern) return accepted();  // that era has none that a server would act on
  }
  if (is_request(message)) {
    if (claims_revision(message->params)) return post_modern(request, std::move(inbound));
    if (header_is_modern(request)) {
      if (message->method == "initialize") {
        return error_response(400, {kHeaderMismatch,
                                    "header mismatch: initialize is not part of the revision in "
                                    "MCP-Protocol-Version",
                                    nullptr, message->id});
      }
      return error_response(400,
                            {kInvalidParams,
                             "params._meta must have io.modelcontextprotocol/protocolVersion and "
                             "io.modelcontextprotocol/clientCapabilities",
                             nullptr, message->id});
    }
  }
  return post_legacy(request, std::move(inbound));
}

Response Streamable::post_modern(const Request& request, Inbound inbound) {
  const auto& message = std::get<Message>(inbound.items.front());
  auto meta = read_modern_meta(message.params);
  if (auto* error = std::get_if<RpcError>(&meta)) {
    return error_response(400, with_id(std::move(*error), message.id));
  }
  const ModernMeta& said = std::get<ModernMeta>(meta);
  if (auto error = check_standard_headers(request, message, said)) {
    return error_response(400, with_id(std::move(*error), message.id));
  }
  if (find_method(message.method, parts_.server, *said.format) == nullptr) {
    return error_response(404, {kMethodNotFound, "unknown method: " + message.method.substr(0, 200),
                                nullptr, message.id});
  }
  if (message.method == "tools/call") {
    if (auto error = refuse_call(parts_.server, message.params, said.capabilities)) {
      return error_response(400, with_id(std::move(*error), message.id));
    }
  }
  if (auto error = check_parameter_headers(request, message, parts_.server)) {
    return error_response(400, with_id(std::move(*error), message.id));
  }
  const auto held =
      FairBudget::take(parts_.open_messages, request.principal.id, request.body.size());
  if (held == nullptr) return too_busy(message.id);
  Connection::Options options = connection_options(parts_, request.principal);
  const auto connection = make_connection(parts_.server, std::move(options), parts_.run, nullptr);
  // Until the end of the exchange somebody may want to send through the connection.
  const auto exchange = std::make_shared<PostExchange>(
      [] { return std::make_unique<DirectSink>(); }, [connection, held] {}, request.id);
  connection->receive(std::move(inbound), exchange);
  if (const auto answer = wait(*exchange)) {
    return answer_response(status_of(*answer), *answer);
  }
  Response response = stream_response();
  response.start_stream = [this, exchange, connection](const std::shared_ptr<Stream>& stream) {
    parts_.keep_alive.add(stream);
    remember(connection);
    // Closing the stream is how this era cancels.
    stream->on_gone([this, connection] {
      // Unless it was this server that closed it.
      if (stopping_) {
        connection->disconnect();
      } else {
        connection->cancel_requests();
      }
    });
    static_cast<DirectSink&>(exchange->sink()).attach(stream);
  };
  return response;
}

void Streamable::remember(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  std::erase_if(streaming_, [](const auto& one) { return one.expired(); });
  streaming_.push_back(connection);
}

void Streamable::stop() {
  stopping_ = true;
  std::vector<std::weak_ptr<Connection>> streaming;
  {
    const std::lock_guard lock(mutex_);
    streaming = std::exchange(streaming_, {});
  }
  for (const auto& one : streaming) {
    if (const auto connection = one.lock()) connection->end_subscriptions();
  }
  for (const auto& session : sessions_.all()) session->log->detach(EventLog::kUnsolicited);
}

Response Streamable::post_legacy(const Request& request, Inbound inbound) {
  const Message* message = single(inbound);
  if (is_request(message) && message->method == "initialize") {
    return initialize(request, std::move(inbound));
  }
  Response refusal;
  const auto session = session_of(request, refusal);
  if (session == nullptr) return refusal;
  return post_in_session(request, std::move(inbound), session);
}

std::shared_ptr<LegacySession> Streamable::session_of(const Request& request, Response& refusal) {
  if (request.headers.count(kSessionHeader) != 1) {
    refusal = refuse(400,
                     "Mcp-Session-Id is missing: send initialize first, or name the protocol "
                     "version in params._meta");
    return nullptr;
  }
  if (request.has_header(kVersionHeader) &&
      wire::find_format(request.header(kVersionHeader)) == nullptr) {
    refusal = refuse(400, "unsupported MCP-Protocol-Version");
    return nullptr;
  }
  auto session = sessions_.find(std::string(request.header(kSessionHeader)), request.principal);
  if (session == nullptr) refusal = refuse(404, "no such session: send initialize again");
  return session;
}

Response Streamable::initialize(const Request& request, Inbound inbound) {
  const auto session = std::make_shared<LegacySession>();
  session->id = base::random_id("");
  session->connection_id = base::random_id("connection_");
  session->principal = request.principal;
  session->log = std::make_shared<EventLog>(
      EventLog::Limits{.all = parts_.logs, .principal_id = request.principal.id});
  Connection::Options options = connection_options(parts_, request.principal);
  options.id = session->connection_id;
  options.unsolicited = [log = session->log](const json& message) {
    log->append(EventLog::kUnsolicited, print(message));
  };
  session->connection =
      make_connection(parts_.server, std::move(options), parts_.run, parts_.session_ended);
  const auto exchange = std::make_shared<PostExchange>(
      [log = session->log] { return std::make_unique<LoggedSink>(log); }, nullptr, request.id);
  session->connection->receive(std::move(inbound), exchange);
  const auto answer = exchange->wait(parts_.json_patience);
  if (!answer) return refuse(500, "initialize had no answer");
  if (!(*answer)->contains("result")) return json_response(200, *answer);
  if (!sessions_.add(session)) {
    return refuse_for_now("too many sessions: end one with DELETE, or try again later");
  }
  Response response = json_response(200, *answer);
  response.headers.emplace_back(kSessionHeader, session->id);
  return response;
}

bool Streamable::is_polled(const Inbound& inbound) const {
  const Message* message = single(inbound);
  if (message == nullptr || message->method != "tools/call") return false;
  const auto name = message->params->find("name");
  return name != message->params->end() && name->is_string() &&
         parts_.polled_tools.contains(name->get_ref<const std::string&>());
}

Response Streamable::post_in_session(const Request& request, Inbound inbound,
                                     const std::shared_ptr<LegacySession>& session) {
  const wire::Format* format = session->connection->legacy_format();
  if (inbound.is_batch && (format == nullptr || !format->batches || inbound.items.empty())) {
    return error_response(
        400, {kInvalidRequest,
              inbound.items.empty() ? "empty batch" : "this protocol revision has no batches",
              nullptr, nullptr});
  }
  if (!has_request(inbound)) {
    session->connection->receive(std::move(inbound), std::make_shared<NoAnswerExchange>());
    return accepted();
  }
  const auto held =
      FairBudget::take(parts_.open_messages, request.principal.id, request.body.size());
  if (held == nullptr) {
    const Message* message = single(inbound);
    return too_busy(message == nullptr ? json() : *message->id);
  }
  const bool prime = wants_priming(*session);
  const bool polled = prime && is_polled(inbound);
  const auto exchange = std::make_shared<PostExchange>(
      [log = session->log] { return std::make_unique<LoggedSink>(log); }, [held] {}, request.id);
  if (polled) exchange->begin_stream();
  session->connection->receive(std::move(inbound), exchange);
  if (const auto answer = wait(*exchange)) return answer_response(200, *answer);
  const std::uint64_t stream = static_cast<LoggedSink&>(exchange->sink()).stream();
  Response response = stream_response();
  response.start_stream = [this, session, stream, prime,
                           polled](const std::shared_ptr<Stream>& reader) {
    if (polled) {
      (void)reader->send(priming_event({stream, 0}));
      return reader->close();
    }
    send_log(session->log, {stream, 0}, reader, prime);
  };
  return response;
}

void Streamable::send_log(const std::shared_ptr<EventLog>& log, const EventId& from,
                          const std::shared_ptr<Stream>& reader, bool prime) {
  parts_.keep_alive.add(reader);
  log->attach(from, reader, prime);
  // Else the session would look used, and the socket stay, until there is something to send.
  reader->on_gone([log = std::weak_ptr(log), stream = from.stream, gone = std::weak_ptr(reader)] {
    const auto kept = log.lock();
    const auto left = gone.lock();
    if (kept != nullptr && left != nullptr) kept->leave(stream, left);
  });
}

Response Streamable::get(const Request& request) {
  if (!accepts_events(request)) return refuse(406, "Accept must list text/event-stream");
  Response refusal;
  const auto session = session_of(request, refusal);
  if (session == nullptr) return refusal;
  EventId from = session->log->last(EventLog::kUnsolicited);
  if (request.has_header(kResumeHeader)) {
    const auto last = parse_event_id(request.header(kResumeHeader));
    if (!last || !session->log->can_attach(*last)) {
      return refuse(400, "Last-Event-ID is none of this session's, or too old to resume from");
    }
    // Clients that have had no answer would come again for ever: a call that was cancelled gets
    // none.
    if (session->log->is_over(*last)) return no_content();
    from = *last;
  }
  Response response = stream_response();
  response.start_stream = [this, session, from](const std::shared_ptr<Stream>& reader) {
    send_log(session->log, from, reader, wants_priming(*session));
  };
  return response;
}

Response Streamable::remove(const Request& request) {
  Response refusal;
  const auto session = session_of(request, refusal);
  if (session == nullptr) return refusal;
  sessions_.remove(session->id);
  return no_content();
}

}  // namespace mcp::http
