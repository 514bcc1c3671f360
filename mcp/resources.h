// Resources as the protocol sees them: whoever has some implements this.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/call_context.h"
#include "mcp/completion.h"
#include "mcp/input_required.h"
#include "base/json_value.h"
#include "mcp/message.h"

namespace mcp {

// A Page is a part of a list, in the words of the newest revision.
struct Page {
  base::JsonValue items = base::JsonValue::array();
  std::optional<std::string> next_cursor;
};

struct NotFound {};

// Contents in the words of the newest revision: at least one.
struct ResourceContents {
  base::JsonValue contents = base::JsonValue::array();
};

using ReadAnswer = std::variant<ResourceContents, NotFound, InputRequired, RpcError>;

// It is called from many threads at once. Anything that it throws is a bug, reported as -32603.
class ResourceProvider {
 public:
  virtual ~ResourceProvider() = default;

  // Returns resource objects. `cursor` is empty for the first page; nothing for one that was never
  // given.
  virtual std::optional<Page> list(const std::string& cursor, CallContext& context) = 0;
  // Returns all ResourceTemplate objects, as an array.
  virtual nlohmann::json templates() = 0;
  virtual ReadAnswer read(const std::string& uri, CallContext& context) = 0;

  // Values for an argument of a template. Nothing: no such template.
  virtual std::optional<Completion> complete(const std::string& /*uri_template*/,
                                             const CompletionQuery& /*query*/,
                                             CallContext& /*context*/) {
    return std::nullopt;
  }
  [[nodiscard]] virtual bool completes() const { return false; }

  // Returns true when it reports to Server::changes() what happens to a watched URI.
  [[nodiscard]] virtual bool can_subscribe() const { return false; }
  // Returns false when this URI can never name a resource, so nothing can happen to it.
  [[nodiscard]] virtual bool can_watch(const std::string& /*uri*/) const { return true; }
  // Returns true when it reports changes of its list.
  [[nodiscard]] virtual bool list_may_change() const { return false; }
  // The first subscription of a principal to a URI has come, the last one has gone. The URI may be
  // anything a client writes.
  virtual void watch(const std::string& /*principal_id*/, const std::string& /*uri*/) {}
  virtual void unwatch(const std::string& /*principal_id*/, const std::string& /*uri*/) {}
  // Returns soon, and where it can be, when nothing more of what is watched would be missed.
  virtual void settle(const std::string& /*principal_id*/) {}
};

}  // namespace mcp
