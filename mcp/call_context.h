// CallContext tells a tool, a prompt or a resource about the request that it answers, and takes
// what it has to report or to ask meanwhile.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "mcp/log_level.h"
#include "mcp/principal.h"
#include "mcp/wire/revision.h"

namespace mcp {

// A client says this of itself: a hint for records, never a reason to trust it.
struct ClientInfo {
  std::string name;     // empty: not said
  std::string version;  // empty: not said
};

// Why a question to the client has no answer.
struct NoAnswer {
  enum class Why {
    kNotPossible,  // this revision has no such questions, or the client did not declare it
    kRefused,      // the client answered with an error
    kTimeout,
    kCancelled,  // the call it belongs to was cancelled, or the client went away
  };
  Why why = Why::kNotPossible;
  std::string message;
};

// Says whether the call may be answered with a task.
enum class TaskWish {
  kImpossible,  // the client knows no tasks
  kAllowed,     // the tool decides
  kDemanded,    // the client has asked for one
};

// Lives as long as the call, and is used from the thread of the call; only the stop token may go to
// others.
class CallContext {
 public:
  virtual ~CallContext() = default;

  // Returns when the request had come whole: it may have waited for a thread since.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point received_at() const = 0;

  // Returns whoever asks. All that belongs to another principal does not exist for this one.
  [[nodiscard]] virtual const Principal& principal() const = 0;

  // Returns a token whose stop is requested when the client cancels or goes away; nobody reads the
  // result then. Return soon after: the end of the connection waits for it.
  [[nodiscard]] virtual std::stop_token cancelled() const = 0;
  // Returns whether the client went away instead of cancelling: it did not ask for anything to end.
  [[nodiscard]] virtual bool disconnected() const = 0;

  // A client that gave no progress token gets none, whatever is reported.
  [[nodiscard]] virtual bool wants_progress() const = 0;
  // `progress` must grow from report to report: one that does not, or is no number, is not sent.
  virtual void report_progress(double progress, std::optional<double> total,
                               const std::string& message) = 0;
  // Sent when the client asked for messages this grave, and the server has logging enabled.
  virtual void log(LogLevel level, const std::string& logger, nlohmann::json data) = 0;

  // Returns an id that all calls of one connection share; empty when the calls of this client have
  // nothing in common but the principal.
  [[nodiscard]] virtual const std::string& connection_id() const = 0;
  [[nodiscard]] virtual wire::Revision revision() const = 0;
  [[nodiscard]] virtual const ClientInfo& client() const = 0;
  // Returns them as the client declared them: an object.
  [[nodiscard]] virtual const nlohmann::json& client_capabilities() const = 0;
  // The HTTP request that it came with has this name in the log; empty: it came with none.
  [[nodiscard]] virtual std::string request_id() const { return ""; }
  // Returns the W3C trace context of the request; empty: none, or none that is well-formed.
  [[nodiscard]] virtual const std::string& trace_parent() const = 0;

  // Sends a request (sampling/createMessage, elicitation/create, roots/list) to a client of a
  // revision with initialize, and waits for its result.
  virtual std::variant<nlohmann::json, NoAnswer> ask_client(const std::string& method,
                                                            nlohmann::json params,
                                                            std::chrono::milliseconds timeout) = 0;

  // Returns what the client answered to an InputRequired of an earlier round: key to result. Empty
  // in the first round; it may lack keys that were asked for, and have others.
  [[nodiscard]] virtual const nlohmann::json& input_responses() const = 0;
  // Returns the state of that InputRequired; null when it has none.
  [[nodiscard]] virtual const nlohmann::json& request_state() const = 0;

  // Return whether a tool may answer with a task, and how long the client wants to have it kept.
  [[nodiscard]] virtual TaskWish task_wish() const = 0;
  [[nodiscard]] virtual std::optional<std::chrono::milliseconds> task_ttl() const = 0;

  // Returns false when a resource_link in the result reaches the client as text of its name and
  // URI.
  [[nodiscard]] bool has_resource_links() const {
    return wire::format_of(revision()).has_resource_links;
  }
  // Returns false when structured_content does not reach the client at all.
  [[nodiscard]] bool has_structured_content() const {
    return wire::format_of(revision()).has_structured_content;
  }
};

}  // namespace mcp
