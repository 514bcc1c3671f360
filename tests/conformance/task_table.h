// Tasks kept in memory, each on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "mcp/changes.h"
#include "mcp/tasks.h"

namespace conformance {

inline constexpr std::size_t kTasksMax = 256;  // at once

// A RunningTask is what the work of a task may use meanwhile.
class RunningTask {
 public:
  virtual ~RunningTask() = default;
  // False: it was cancelled.
  virtual bool pause(std::chrono::duration<double> seconds) = 0;
  // Puts questions to the client, and waits until all are answered: key to answer. Nothing: it was
  // cancelled.
  virtual std::optional<nlohmann::json> ask(const nlohmann::json& requests) = 0;
};

class TaskTable final : public mcp::TaskSource {
 public:
  using Work = std::function<mcp::TaskOutcome(RunningTask& task)>;

  TaskTable();
  ~TaskTable() override;
  // Where changes of tasks are reported, until end_all(). Called before the first task.
  void report_to(mcp::Changes& changes) { changes_ = &changes; }
  // Returns when no task runs any more.
  void end_all();

  // Throws std::runtime_error when there are too many.
  mcp::Task start(const mcp::Principal& principal, std::optional<std::chrono::milliseconds> ttl,
                  Work work);

  std::optional<mcp::Task> find(const mcp::Principal& principal, const std::string& id) override;
  std::optional<mcp::TaskOutcome> outcome(const mcp::Principal& principal,
                                          const std::string& id) override;
  // Returns when the task is terminal or wants input, when time is up, or when it is told to stop.
  void wait(const mcp::Principal& principal, const std::string& id,
            std::chrono::milliseconds timeout, const std::stop_token& stop);
  bool cancel(const mcp::Principal& principal, const std::string& id) override;
  void update(const mcp::Principal& principal, const std::string& id,
              const nlohmann::json& input_responses) override;
  std::optional<mcp::TaskPage> list(const mcp::Principal& principal,
                                    const std::string& cursor) override;

 private:
  struct Entry;
  class Running;
  using Entries = std::map<std::string, std::unique_ptr<Entry>>;

  // With mutex_ held: null for none of this principal.
  Entry* entry_of(const mcp::Principal& principal, const std::string& id);
  // Returns what is past its time, for the caller to destroy without the lock: that waits for
  // threads.
  Entries take_old();
  void run(Entry& entry, const Work& work, const std::stop_token& stop);
  // With mutex_ held. False: it had ended already.
  bool set_status(Entry& entry, mcp::TaskStatus status);
  // Without: whoever is told may ask back.
  void tell(const std::string& principal_id, const std::string& id);

  mcp::Changes* changes_ = nullptr;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Entries entries_;
};

}  // namespace conformance
