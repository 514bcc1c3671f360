#include "mcp/connection.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/batch_replies.h"
#include "mcp/handlers.h"
#include "mcp/request_meta.h"
#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;
using wire::Format;

namespace {

// They are kept as long as the connection, and go with every request.
constexpr std::size_t kCapabilitiesBytesMax = 64U << 10;

json refusal(int code, std::string why, const json& id) {
  return make_error({code, std::move(why), nullptr, id});
}

// Why a message may not be part of a batch; null when it may.
const char* wrong_in_batch(const Message& message) {
  if (message.method == "initialize") return "initialize must not be in a batch";
  if (claims_revision(message.params))
    return "the protocol revision of this request has no batches";
  return nullptr;
}

// The method, and the tool that is one of ours.
std::string what_is_asked(const Server& server, const Method& method, const Call& call) {
  std::string what(method.name);
  const std::string* name = find_text(call.params(), "name");
  if (method.name == "tools/call" && name != nullptr && server.find_tool(*name) != nullptr) {
    what += " " + *name;
  }
  return what;
}

}  // namespace

Connection::Connection(const Server& server, Options options)
    : server_(server),
      options_(std::move(options)),
      subscriptions_(server, options_.principal, options_.unsolicited),
      followers_(server, options_.principal, options_.unsolicited),
      waits_(server.changes(), options_.principal.id) {
  surroundings_.subscriptions = &subscriptions_;
  surroundings_.followers = &followers_;
  surroundings_.connection_id = options_.id;
  surroundings_.principal = options_.principal;
  surroundings_.logging = server.has_logging();
}

void Connection::cancel_requests() {
  pending_.cancel_all();
  for (const json& id : subscriptions_.end_all(/*with_word=*/false)) (void)pending_.close(id);
}

void Connection::disconnect() {
  surroundings_.disconnected = true;
  cancel_requests();
}

void Connection::end_subscriptions() {
  for (const json& id : subscriptions_.end_all(/*with_word=*/true)) (void)pending_.close(id);
}

const Format* Connection::legacy_format() const {
  const std::lock_guard lock(mutex_);
  return opening_ ? opening_->format : nullptr;
}

std::optional<Connection::Opening> Connection::opening() const {
  const std::lock_guard lock(mutex_);
  return opening_;
}

Connection::Holder Connection::hold(const std::shared_ptr<Exchange>& exchange) {
  return {exchange.get(), [exchange](Exchange* held) { held->end(); }};
}

void Connection::receive(std::string_view text, const std::shared_ptr<Exchange>& exchange) {
  const Holder held = hold(exchange);
  try {
    auto read = read_inbound(text);
    if (auto* error = std::get_if<RpcError>(&read)) {
      return held->send(error_message(std::move(*error)));
    }
    receive_held(std::get<Inbound>(std::move(read)), held);
  } catch (const std::exception& failure) {
    fail(failure, held);
  }
}

void Connection::receive(Inbound inbound, const std::shared_ptr<Exchange>& exchange) {
  const Holder held = hold(exchange);
  try {
    receive_held(std::move(inbound), held);
  } catch (const std::exception& failure) {
    fail(failure, held);
  }
}

void Connection::receive_held(Inbound inbound, const Holder& held) {
  if (inbound.is_batch) return receive_batch(std::move(inbound), held);
  handle(std::get<Message>(std::move(inbound.items.at(0))), inbound.bytes,
         {held, [held](const json& reply) {
            if (!reply.is_null()) held->send(reply);
          }});
}

// Out of memory, or a bug: this message is lost, the connection lives.
void Connection::fail(const std::exception& failure, const Holder& held) {
  server_.report_fault(std::string("message: ") + failure.what());
  held->send(error_message({kInternalError, "internal error", nullptr, nullptr}));
}

void Connection::refuse(RpcError error, const std::shared_ptr<Exchange>& exchange) {
  hold(exchange)->send(error_message(std::move(error)));
}

void Connection::receive_batch(Inbound batch, const Holder& exchange) {
  const Format* format = legacy_format();
  const bool allowed = format != nullptr && format->batches;
  if (!allowed || batch.items.empty()) {
    const char* why = allowed ? "empty batch" : "this protocol revision has no batches";
    return exchange->send(error_message({kInvalidRequest, why, nullptr, nullptr}));
  }
  const auto is_answered = [](const Inbound::Item& item) {
    const auto* message = std::get_if<Message>(&item);
    return message == nullptr || message->kind == Message::Kind::kRequest;
  };
  const auto expected = std::count_if(batch.items.begin(), batch.items.end(), is_answered);
  const auto replies = std::make_shared<BatchReplies>(
      static_cast<std::size_t>(expected), [exchange](const json& all) { exchange->send(all); });
  const Reply reply = [replies](json one) { replies->add(std::move(one)); };
  for (Inbound::Item& item : batch.items) {
    if (auto* error = std::get_if<RpcError>(&item)) {
      reply(error_message(std::move(*error)));
      continue;
    }
    auto& message = std::get<Message>(item);
    const bool is_request = message.kind == Message::Kind::kRequest;
    const char* wrong = is_request ? wrong_in_batch(message) : nullptr;
    if (wrong != nullptr) {
      reply(refusal(kInvalidRequest, wrong, message.id));
    } else {
      handle(std::move(message), batch.bytes / batch.items.size(), {exchange, reply});
    }
  }
}

void Connection::handle(Message message, std::size_t bytes, const Route& route) {
  switch (message.kind) {
    case Message::Kind::kResponse:
      return surroundings_.client_requests.settle(message);
    case Message::Kind::kNotification:
      return handle_notification(message);
    case Message::Kind::kRequest:
      break;
  }
  if (pending_.is_open(message.id)) {
    return route.reply(
        refusal(kInvalidRequest, "a request with this id is open already", message.id));
  }
  if (claims_revision(message.params)) return handle_modern(std::move(message), bytes, route);
  handle_legacy(std::move(message), bytes, route);
}

void Connection::handle_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params->find("requestId");
  // One that is not open any more has been answered meanwhile: no error.
  if (id == message.params->end() || !is_id(*id)) return;
  (void)pending_.cancel(*id);
  if (subscriptions_.end(*id)) (void)pending_.close(*id);
}

void Connection::handle_modern(Message message, std::size_t bytes, const Route& route) {
  auto read = read_modern_meta(message.params);
  if (auto* error = std::get_if<RpcError>(&read)) {
    return route.reply(make_error(with_id(std::move(*error), message.id)));
  }
  auto& meta = std::get<ModernMeta>(read);
  if (meta.format == nullptr) {
    return route.reply(make_error(with_id(unsupported_revision(meta.claim), message.id)));
  }
  dispatch({std::move(message), *meta.format, std::move(meta.client), std::move(meta.capabilities),
            meta.log_level, bytes},
           route);
}

void Connection::handle_legacy(Message message, std::size_t bytes, const Route& route) {
  if (message.method == "initialize") return initialize(message, route);
  auto opening = this->opening();
  // Answered at any time.
  if (!opening && message.method == "ping") {
    return route.reply(make_result(message.id, json::object()));
  }
  // This method is of the other era: what is missing is the claim.
  if (message.method == "server/discover") {
    return route.reply(refusal(
        kInvalidParams, "server/discover needs the protocol version in params._meta", message.id));
  }
  if (!opening) {
    return route.reply(
        refusal(kInvalidRequest,
                "send initialize first, or name the protocol version in params._meta", message.id));
  }
  dispatch({std::move(message), *opening->format, std::move(opening->client),
            std::move(opening->capabilities), std::nullopt, bytes},
           route);
}

void Connection::initialize(const Message& message, const Route& route) {
  const json& params = message.params;
  const auto version = params.find("protocolVersion");
  if (version == params.end() || !version->is_string()) {
    return route.reply(refusal(kInvalidParams, "initialize needs protocolVersion", message.id));
  }
  // Clients have been seen without these two; only what is there and wrong is refused.
  for (const char* name : {"capabilities", "clientInfo"}) {
    const auto member = params.find(name);
    if (member == params.end() || member->is_object()) continue;
    return route.reply(
        refusal(kInvalidParams, std::string(name) + " must be an object", message.id));
  }
  Opening opening;
  opening.format = &wire::negotiate(version->get_ref<const std::string&>());
  const auto client = params.find("clientInfo");
  if (client != params.end()) opening.client = read_client_info(*client);
  const auto capabilities = params.find("capabilities");
  if (capabilities != params.end()) {
    if (print(*capabilities).size() > kCapabilitiesBytesMax) {
      return route.reply(refusal(kInvalidParams, "capabilities are too large", message.id));
    }
    opening.capabilities = *capabilities;
  }
  const Format& format = *opening.format;
  {
    const std::lock_guard lock(mutex_);
    opening_ = std::move(opening);
  }
  answer(message.id, server_.initialize(format), format, route.reply);
  subscriptions_.open_legacy();
}

void Connection::dispatch(Request request, const Route& route) {
  const Message& message = request.message;
  const Method* method = find_method(message.method, server_, request.format);
  if (method == nullptr) {
    return route.reply(
        refusal(kMethodNotFound, "unknown method: " + message.method.substr(0, 200), message.id));
  }
  if (method->name == kListen) return listen(request, route);
  if (!method->quick) return start_call(*method, std::move(request), route);
  Call call(request, surroundings_, route.exchange, {});
  answer(message.id, answer_of(*method, call), request.format, route.reply);
}

void Connection::listen(const Request& request, const Route& route) {
  const json& id = request.message.id;
  const auto stop = pending_.open(id);
  if (!stop) return route.reply(refusal(kInvalidRequest, "a request with this id is open", id));
  if (auto error = subscriptions_.listen(request, route.exchange)) {
    (void)pending_.close(id);
    return route.reply(make_error(with_id(std::move(*error), id)));
  }
  // Cancelled before it was there to be ended.
  if (stop->stop_requested() && subscriptions_.end(id)) (void)pending_.close(id);
}

void Connection::start_call(const Method& method, Request request, const Route& route) {
  if (const auto seconds = options_.too_often ? options_.too_often() : std::nullopt) {
    return route.reply(too_many_calls(server_, request, *seconds));
  }
  const json id = request.message.id;
  const std::size_t bytes = request.bytes;
  const std::size_t open_bytes = open_bytes_;
  const bool room = open_bytes == 0 || open_bytes + bytes <= options_.open_bytes_max;
  const auto stop = room ? pending_.open(id) : std::nullopt;
  const auto shared = std::make_shared<const Request>(std::move(request));
  if (stop) {
    open_bytes_ += bytes;
    if (options_.run([this, &method, shared, stop = *stop, route] {
          run_call(method, shared, stop, route);
        })) {
      return;
    }
    open_bytes_ -= bytes;
    (void)pending_.close(id);
  }
  route.reply(too_many_calls(server_, *shared, kRetryAfterSeconds));
}

void Connection::run_call(const Method& method, const std::shared_ptr<const Request>& request,
                          const std::stop_token& stop, const Route& route) {
  const json& id = request->message.id;
  Server::Answer result = json::object();
  // A request that was cancelled while it waited for a thread is not begun.
  while (!stop.stop_requested()) {
    Call call(*request, surroundings_, route.exchange, stop);
    result = answer_of(method, call);
    if (call.awaited_task().empty()) break;
    const auto next = wait_for_task(method, request, stop, route, call.awaited_task());
    if (next == TaskWaits::Next::kWait) return;
    if (next == TaskWaits::Next::kTooMany) {
      result = RpcError{kInternalError, "too many requests wait already", nullptr, nullptr};
      break;
    }
  }
  waits_.end(id);
  open_bytes_ -= request->bytes;
  // After a cancellation nothing is sent: the client has forgotten the id.
  if (!pending_.close(id)) return route.reply(nullptr);
  try {
    answer(id, std::move(result), request->format, route.reply);
  } catch (const std::exception& failure) {
    // The result does not fit into memory once more.
    server_.report_fault(std::string("reply: ") + failure.what());
    route.reply(refusal(kInternalError, "internal error", id));
  }
}

TaskWaits::Next Connection::wait_for_task(const Method& method,
                                          const std::shared_ptr<const Request>& request,
                                          const std::stop_token& stop, const Route& route,
                                          const std::string& task_id) {
  const auto look = [this, &method, request, stop, route] {
    return options_.run(
        [this, &method, request, stop, route] { run_call(method, request, stop, route); });
  };
  const auto given_up = [this, request, route] {
    const json& id = request->message.id;
    open_bytes_ -= request->bytes;
    route.reply(pending_.close(id) ? too_many_calls(server_, *request, kRetryAfterSeconds)
                                   : json());
  };
  return waits_.stay(request->message.id, task_id, stop, look, given_up);
}

// An exception from a handler is a bug: it is reported, and the client sees only that there was
// one.
Server::Answer Connection::answer_of(const Method& method, Call& call) const {
  const auto started = std::chrono::steady_clock::now();
  Server::Answer answer = RpcError{kInternalError, "internal error", nullptr, nullptr};
  try {
    answer = method.answer(server_, call);
  } catch (const std::exception& failure) {
    server_.report_fault(std::string(method.name) + ": " + failure.what());
  } catch (...) {
    server_.report_fault(std::string(method.name) + ": unknown exception");
  }
  if (!call.awaited_task().empty()) return answer;  // there is none yet
  const auto took = std::chrono::steady_clock::now() - started;
  server_.report_call(call, what_is_asked(server_, method, call),
                      std::chrono::duration_cast<std::chrono::milliseconds>(took));
  return answer;
}

void Connection::answer(const json& id, Server::Answer answer, const Format& format,
                        const Reply& reply) const {
  if (auto* error = std::get_if<RpcError>(&answer)) {
    return reply(make_error(with_id(std::move(*error), id)));
  }
  reply(make_result(id, wire::finish_result(std::get<json>(std::move(answer)),
                                            server_.identity(format), format)));
}

json Connection::error_message(RpcError error) const {
  json message = make_error(std::move(error));
  // JSON-RPC wants null for an id that could not be read; newer revisions of MCP want none.
  const Format* format = legacy_format();
  const bool null_id = format != nullptr && format->unknown_id_is_null;
  if (message["id"].is_null() && !null_id) message.erase("id");
  return message;
}

}  // namespace mcp
