// A Connection is one client: which era each of its messages belongs to, what it has open, what it
// gets back. Knows no transport: text comes in, and messages go out through the exchange it came
// with.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call.h"
#include "mcp/exchange.h"
#include "mcp/inbound.h"
#include "base/json_value.h"
#include "mcp/methods.h"
#include "mcp/pending_requests.h"
#include "mcp/server.h"
#include "mcp/subscriptions.h"
#include "mcp/task_followers.h"
#include "mcp/task_waits.h"

namespace mcp {

// The messages of one connection whose calls are open at once may have so many bytes together; with
// none open, one of any size is let in.
inline constexpr std::size_t kOpenBytesMax = 128U << 20;

// Over stdio it lasts as long as the process, over legacy HTTP as long as the session; a modern
// HTTP request makes one for itself. It is safe from many threads.
class Connection {
 public:
  struct Options {
    // All calls have this id (CallContext::connection_id()); empty when the client has no
    // connection (stateless HTTP).
    std::string id;
    Principal principal;
    // Runs work on another thread; false when too much is waiting already.
    std::function<bool(std::function<void()> work)> run;
    // Asked before a call is begun: in how many seconds its client may try again instead. Null: no
    // call is refused so.
    std::function<std::optional<int>()> too_often = nullptr;
    // Sends a message that answers none, such as a change of a list, or drops it when the client
    // does not keep up. From any thread. Null: this client gets none.
    std::function<void(const nlohmann::json& message)> unsolicited = nullptr;
    std::size_t open_bytes_max = kOpenBytesMax;
  };

  // `server` outlives it, and it outlives all work it gave to `run`.
  Connection(const Server& server, Options options);

  // Takes one message, or an array of them. Never waits here for a tool. Does not throw: what goes
  // wrong is an error for the client. The exchange is ended, sooner or later, whatever happens.
  void receive(std::string_view text, const std::shared_ptr<Exchange>& exchange);
  // Takes what read_inbound() has read of a text; promises the same as receive() of the text.
  void receive(Inbound inbound, const std::shared_ptr<Exchange>& exchange);
  // Answers a text that was not read, or not accepted, with `error`.
  void refuse(RpcError error, const std::shared_ptr<Exchange>& exchange);

  // Stops all open requests, as if the client had cancelled each; nothing more is sent for them.
  void cancel_requests();
  // Stops all open requests since the client is gone: it did not ask for anything to end, which
  // their calls see by CallContext::disconnected().
  void disconnect();

  // Ends the open subscriptions/listen requests, and says so to the client.
  void end_subscriptions();

  [[nodiscard]] std::size_t open_requests() const { return pending_.count(); }
  // Returns the revision of the last initialize; null before it.
  [[nodiscard]] const wire::Format* legacy_format() const;

 private:
  using Reply = std::function<void(nlohmann::json message)>;  // null: nothing to send
  using Holder = std::shared_ptr<Exchange>;                   // ends it when the last one goes

  // Holds what the last initialize has said, and the revision agreed on.
  struct Opening {
    const wire::Format* format = nullptr;
    ClientInfo client;
    base::JsonValue capabilities = base::JsonValue::object();
  };

  // A Route says where one message's answer goes.
  struct Route {
    Holder exchange;
    Reply reply;
  };

  static Holder hold(const std::shared_ptr<Exchange>& exchange);
  void receive_held(Inbound inbound, const Holder& held);
  void fail(const std::exception& failure, const Holder& held);
  void receive_batch(Inbound batch, const Holder& exchange);
  void handle(Message message, std::size_t bytes, const Route& route);
  void handle_notification(const Message& message);
  void handle_legacy(Message message, std::size_t bytes, const Route& route);
  void handle_modern(Message message, std::size_t bytes, const Route& route);
  void initialize(const Message& message, const Route& route);
  void dispatch(Request request, const Route& route);
  void listen(const Request& request, const Route& route);
  void start_call(const Method& method, Request request, const Route& route);
  void run_call(const Method& method, const std::shared_ptr<const Request>& request,
                const std::stop_token& stop, const Route& route);
  TaskWaits::Next wait_for_task(const Method& method, const std::shared_ptr<const Request>& request,
                                const std::stop_token& stop, const Route& route,
                                const std::string& task_id);
  Server::Answer answer_of(const Method& method, Call& call) const;
  void answer(const nlohmann::json& id, Server::Answer answer, const wire::Format& format,
              const Reply& reply) const;
  [[nodiscard]] nlohmann::json error_message(RpcError error) const;
  [[nodiscard]] std::optional<Opening> opening() const;

  const Server& server_;
  const Options options_;
  Surroundings surroundings_;
  Subscriptions subscriptions_;
  PendingRequests pending_;
  std::atomic<std::size_t> open_bytes_ = 0;
  mutable std::mutex mutex_;
  std::optional<Opening> opening_;
  // They go first: they may still be told of changes.
  TaskFollowers followers_;
  TaskWaits waits_;
};

}  // namespace mcp
