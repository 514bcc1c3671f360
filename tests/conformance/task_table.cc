#include "tests/conformance/task_table.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/http/legacy_sessions.h"

namespace conformance {

using mcp::Task;
using mcp::TaskStatus;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace {

constexpr milliseconds kTtl{600'000};
constexpr milliseconds kTtlMax{3'600'000};
constexpr std::int64_t kPollMs = 100;

std::string now_as_text() {
  const auto now = std::chrono::floor<milliseconds>(system_clock::now());
  const std::time_t seconds = system_clock::to_time_t(now);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%FT%T", &parts);
  const std::string fraction = std::to_string(1000 + now.time_since_epoch().count() % 1000);
  return std::string(text.data(), size) + "." + fraction.substr(1) + "Z";
}

}  // namespace

struct TaskTable::Entry {
  Task task;
  std::string principal_id;
  std::chrono::steady_clock::time_point until;
  std::optional<mcp::TaskOutcome> outcome;
  json answers = json::object();
  std::jthread thread;  // last: it uses what stands above
};

class TaskTable::Running final : public RunningTask {
 public:
  Running(TaskTable& table, Entry& entry, const std::stop_token& stop)
      : table_(table), entry_(entry), stop_(stop) {}

  bool pause(std::chrono::duration<double> seconds) override {
    std::unique_lock lock(table_.mutex_);
    const auto time = std::chrono::duration_cast<milliseconds>(seconds);
    (void)table_.changed_.wait_for(lock, stop_, time, [] { return false; });
    return !stop_.stop_requested();
  }

  std::optional<json> ask(const json& requests) override {
    std::unique_lock lock(table_.mutex_);
    entry_.task.input_requests = requests;
    entry_.answers = json::object();
    if (!table_.set_status(entry_, TaskStatus::kInputRequired)) return std::nullopt;
    lock.unlock();
    table_.tell(entry_.principal_id, entry_.task.id);
    lock.lock();
    const auto answered = [&] { return entry_.task.input_requests->empty(); };
    if (!table_.changed_.wait(lock, stop_, answered)) return std::nullopt;
    return entry_.answers;
  }

 private:
  TaskTable& table_;
  Entry& entry_;
  const std::stop_token& stop_;
};

TaskTable::TaskTable() = default;
TaskTable::~TaskTable() = default;

void TaskTable::end_all() {
  Entries all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(entries_);
  }
  for (const auto& [id, entry] : all) entry->thread.request_stop();
}

Task TaskTable::start(const mcp::Principal& principal, std::optional<milliseconds> ttl, Work work) {
  const Entries old = take_old();
  const milliseconds kept = std::clamp(ttl.value_or(kTtl), milliseconds(0), kTtlMax);
  auto entry = std::make_unique<Entry>();
  entry->task.id = mcp::http::random_id("task-");
  entry->task.created_at = now_as_text();
  entry->task.updated_at = entry->task.created_at;
  entry->task.ttl_ms = kept.count();
  entry->task.poll_ms = kPollMs;
  entry->principal_id = principal.id;
  entry->until = std::chrono::steady_clock::now() + kept;
  const std::lock_guard lock(mutex_);
  if (entries_.size() >= kTasksMax) throw std::runtime_error("too many tasks");
  Entry& kept_entry = *entry;
  entries_[entry->task.id] = std::move(entry);
  kept_entry.thread =
      std::jthread([this, &kept_entry, work = std::move(work)](const std::stop_token& stop) {
        run(kept_entry, work, stop);
      });
  return kept_entry.task;
}

TaskTable::Entries TaskTable::take_old() {
  const auto now = std::chrono::steady_clock::now();
  Entries old;
  const std::lock_guard lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (at->second->until < now) old.insert(entries_.extract(at));
    at = next;
  }
  return old;
}

void TaskTable::run(Entry& entry, const Work& work, const std::stop_token& stop) {
  Running running(*this, entry, stop);
  mcp::TaskOutcome outcome;
  try {
    outcome = work(running);
  } catch (const std::exception& failure) {
    outcome = mcp::RpcError{mcp::kInternalError, failure.what(), nullptr, nullptr};
  }
  {
    const std::lock_guard lock(mutex_);
    const bool failed = std::holds_alternative<mcp::RpcError>(outcome);
    entry.outcome = std::move(outcome);
    if (!set_status(entry, failed ? TaskStatus::kFailed : TaskStatus::kCompleted)) return;
  }
  tell(entry.principal_id, entry.task.id);
}

bool TaskTable::set_status(Entry& entry, TaskStatus status) {
  if (entry.task.is_terminal()) return false;
  entry.task.status = status;
  entry.task.updated_at = now_as_text();
  changed_.notify_all();
  return true;
}

void TaskTable::tell(const std::string& principal_id, const std::string& id) {
  if (changes_ != nullptr) changes_->task_changed(principal_id, id);
}

TaskTable::Entry* TaskTable::entry_of(const mcp::Principal& principal, const std::string& id) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || found->second->principal_id != principal.id) return nullptr;
  return found->second.get();
}

std::optional<Task> TaskTable::find(const mcp::Principal& principal, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(principal, id);
  return entry == nullptr ? std::nullopt : std::optional(entry->task);
}

std::optional<mcp::TaskOutcome> TaskTable::outcome(const mcp::Principal& principal,
                                                   const std::string& id) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(principal, id);
  if (entry == nullptr || entry->task.status == TaskStatus::kCancelled) return std::nullopt;
  return entry->outcome;
}

void TaskTable::wait(const mcp::Principal& principal, const std::string& id, milliseconds timeout,
                     const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  (void)changed_.wait_for(lock, stop, timeout, [&] {
    const Entry* entry = entry_of(principal, id);
    return entry == nullptr || entry->task.status != TaskStatus::kWorking;
  });
}

bool TaskTable::cancel(const mcp::Principal& principal, const std::string& id) {
  {
    const std::lock_guard lock(mutex_);
    Entry* entry = entry_of(principal, id);
    if (entry == nullptr || !set_status(*entry, TaskStatus::kCancelled)) return true;
    entry->task.input_requests = json::object();
    entry->thread.request_stop();
  }
  tell(principal.id, id);
  return true;
}

void TaskTable::update(const mcp::Principal& principal, const std::string& id,
                       const json& input_responses) {
  {
    const std::lock_guard lock(mutex_);
    Entry* entry = entry_of(principal, id);
    if (entry == nullptr || entry->task.status != TaskStatus::kInputRequired) return;
    for (const auto& [key, answer] : input_responses.items()) {
      if (entry->task.input_requests->erase(key) != 0) entry->answers[key] = answer;
    }
    const bool is_answered = entry->task.input_requests->empty();
    set_status(*entry, is_answered ? TaskStatus::kWorking : TaskStatus::kInputRequired);
  }
  tell(principal.id, id);
}

std::optional<mcp::TaskPage> TaskTable::list(const mcp::Principal& principal,
                                             const std::string& cursor) {
  if (!cursor.empty()) return std::nullopt;
  mcp::TaskPage page;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, entry] : entries_) {
    if (entry->principal_id == principal.id) page.tasks.push_back(entry->task);
  }
  return page;
}

}  // namespace conformance
