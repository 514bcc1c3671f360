// Requests that wait for the end of a task, on no thread: each is looked at anew when its task has
// changed, or when it was cancelled. Of one connection; safe from many threads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/changes.h"

namespace mcp {

class TaskWaits {
 public:
  // Has somebody look at the request, soon and on another thread. False: nobody can.
  using Look = std::function<bool()>;
  enum class Next {
    kWait,       // the look is over, and there will be another one
    kLookAgain,  // something happened meanwhile
    kTooMany,    // it cannot wait here
  };

  TaskWaits(Changes& changes, std::string principal_id)
      : changes_(changes),
        principal_id_(std::move(principal_id)),
        state_(std::make_shared<State>()) {}
  ~TaskWaits();
  TaskWaits(const TaskWaits&) = delete;
  TaskWaits& operator=(const TaskWaits&) = delete;

  // It is called after a look at the request that has found its task going on. There is never more
  // than one look at a request at a time. `given_up` is called when nobody can look: the request
  // has ended then.
  Next stay(const nlohmann::json& request_id, const std::string& task_id,
            const std::stop_token& stop, const Look& look, const std::function<void()>& given_up);
  // The request has been answered, or never will be. Not waiting is no error.
  void end(const nlohmann::json& request_id);

 private:
  struct Wait {
    Look look;
    std::function<void()> given_up;
    bool looking = true;
    bool again = false;
    std::optional<Changes::Id> listener;
    std::optional<std::stop_callback<std::function<void()>>> on_stop;
  };

  // Outlives the rest for a wake() in which the last of a client goes.
  struct State {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<Wait>> waits;  // by the JSON text of the request's id
    // These were given up by the very thread that told of a change: their turn comes with the next
    // end.
    std::vector<std::unique_ptr<Wait>> given_up;
  };

  Next begin(const nlohmann::json& request_id, const std::string& task_id,
             const std::stop_token& stop, const Look& look, const std::function<void()>& given_up);
  static void wake(const std::shared_ptr<State>& state, const std::string& id_text);
  void take_down(Wait& wait);

  Changes& changes_;
  const std::string principal_id_;
  const std::shared_ptr<State> state_;
};

}  // namespace mcp
