// Subscriptions holds what one client wants to be told of without asking again: its
// subscriptions/listen requests, and the subscriptions of revisions with initialize. Safe from many
// threads.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call.h"
#include "mcp/changes.h"
#include "mcp/exchange.h"
#include "mcp/message.h"
#include "mcp/server.h"

namespace mcp {

class Subscriptions {
 public:
  using Send = std::function<void(const nlohmann::json& message)>;

  // `unsolicited` is null when the client can be told nothing it did not listen for.
  Subscriptions(const Server& server, Principal principal, Send unsolicited);
  ~Subscriptions();  // ends all without a word
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  // It is called after initialize: from now on changes of lists are told.
  void open_legacy();
  Server::Answer subscribe(const nlohmann::json& params);
  Server::Answer unsubscribe(const nlohmann::json& params);

  // Acknowledges the request on its exchange, and keeps it open until end(). An error: it is not.
  std::optional<RpcError> listen(const Request& request, const std::shared_ptr<Exchange>& exchange);
  // Ends the listen request that the client has cancelled. False when it is no open listen request.
  bool end(const nlohmann::json& id);
  // Ends all listen requests, with a last word to the client or without. Returns the ids of those
  // that were open.
  std::vector<nlohmann::json> end_all(bool with_word);

 private:
  struct Listen {
    Changes::Id listener = 0;
    std::shared_ptr<Exchange> exchange;
    const wire::Format* format = nullptr;
  };

  void tell_legacy(const Change& change) const;

  const Server& server_;
  const Principal principal_;
  const Send unsolicited_;
  std::mutex mutex_;
  std::map<nlohmann::json, Listen> listens_;
  std::optional<Changes::Id> legacy_;
};

}  // namespace mcp
