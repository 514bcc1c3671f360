#include "mcp/task_waits.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/message.h"

namespace mcp {

using nlohmann::json;

TaskWaits::~TaskWaits() {
  std::map<std::string, std::unique_ptr<Wait>> waits;
  std::vector<std::unique_ptr<Wait>> given_up;
  {
    const std::lock_guard lock(state_->mutex);
    waits.swap(state_->waits);
    given_up.swap(state_->given_up);
  }
  for (auto& [id, wait] : waits) take_down(*wait);
  for (auto& wait : given_up) take_down(*wait);
}

TaskWaits::Next TaskWaits::stay(const json& request_id, const std::string& task_id,
                                const std::stop_token& stop, const Look& look,
                                const std::function<void()>& given_up) {
  {
    const std::lock_guard lock(state_->mutex);
    const auto known = state_->waits.find(print(request_id));
    if (known != state_->waits.end()) {
      Wait& wait = *known->second;
      if (std::exchange(wait.again, false)) return Next::kLookAgain;
      wait.looking = false;
      return Next::kWait;
    }
  }
  return begin(request_id, task_id, stop, look, given_up);
}

TaskWaits::Next TaskWaits::begin(const json& request_id, const std::string& task_id,
                                 const std::stop_token& stop, const Look& look,
                                 const std::function<void()>& given_up) {
  const std::string id_text = print(request_id);
  Wait* wait = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    auto& place = state_->waits[id_text] = std::make_unique<Wait>();
    wait = place.get();
    wait->look = look;
    wait->given_up = given_up;
  }
  // Nobody else ends it while it is looked at, so `wait` stays. What wakes it is copied: it may be
  // gone before its call is over.
  const Changes::Filter filter{.task_ids = {task_id}};
  wait->listener = changes_.add(
      principal_id_, filter,
      [state = state_, id_text](const Change&) {
        wake(std::shared_ptr(state), std::string(id_text));
      },
      /*counted=*/true);
  if (!wait->listener) {
    end(request_id);
    return Next::kTooMany;
  }
  wait->on_stop.emplace(
      stop, [state = state_, id_text] { wake(std::shared_ptr(state), std::string(id_text)); });
  // The task may have changed before anybody listened.
  return Next::kLookAgain;
}

void TaskWaits::wake(const std::shared_ptr<State>& state, const std::string& id_text) {
  Look look;
  {
    const std::lock_guard lock(state->mutex);
    const auto known = state->waits.find(id_text);
    if (known == state->waits.end()) return;
    Wait& wait = *known->second;
    if (std::exchange(wait.looking, true)) {
      wait.again = true;
      return;
    }
    look = wait.look;
  }
  if (look()) return;
  std::function<void()> given_up;
  {
    const std::lock_guard lock(state->mutex);
    const auto known = state->waits.find(id_text);
    if (known == state->waits.end()) return;
    given_up = std::move(known->second->given_up);
    known->second->look = nullptr;  // `look` has it: what it holds goes with this call
    state->given_up.push_back(std::move(known->second));
    state->waits.erase(known);
  }
  given_up();
}

void TaskWaits::end(const json& request_id) {
  std::unique_ptr<Wait> ended;
  std::vector<std::unique_ptr<Wait>> given_up;
  {
    const std::lock_guard lock(state_->mutex);
    given_up.swap(state_->given_up);
    const auto known = state_->waits.find(print(request_id));
    if (known != state_->waits.end()) {
      ended = std::move(known->second);
      state_->waits.erase(known);
    }
  }
  if (ended) take_down(*ended);
  for (auto& wait : given_up) take_down(*wait);
}

// Without the lock: both wait for a wake() on another thread.
void TaskWaits::take_down(Wait& wait) {
  wait.on_stop.reset();
  if (wait.listener) changes_.remove(*wait.listener);
}

}  // namespace mcp
