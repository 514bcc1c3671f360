// Knows who wants to be told of which changes, and tells them. There is one per server, shared by
// all connections; safe from many threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace mcp {

// Clients have opened so many; nobody gets one that would give it more than are left.
inline constexpr std::size_t kListenersMax = 4096;
inline constexpr std::size_t kWatchedEachMax = 1000;   // URIs, or tasks, of one listener
inline constexpr std::size_t kWishesEachMax = 8192;    // for either, of all of one principal
inline constexpr std::size_t kWatchedBytesMax = 4096;  // for a URI or an id

struct Change {
  enum class Kind { kTools, kPrompts, kResources, kResource, kTask, kTaskProgress };
  Kind kind = Kind::kTools;
  std::string subject = {};  // URI of kResource, id of a task
  double progress = 0;       // grows; for kTaskProgress
  std::string message = {};
};

class Changes {
 public:
  struct Filter {
    bool tools = false;
    bool prompts = false;
    bool resources = false;
    std::set<std::string> uris = {};
    std::set<std::string> task_ids = {};
    bool progress = false;  // these tasks' progress is told, too
  };
  using Tell = std::function<void(const Change& change)>;
  using Watch = std::function<void(const std::string& principal_id, const Change& subject)>;
  using Settle = std::function<void(const std::string& principal_id)>;
  using Id = std::uint64_t;

  // `begin` is told of the first wish of a principal to hear of a resource or task, and `end` when
  // the last is gone. `settle` is called after the first wishes of one listener, before anything is
  // promised to it.
  void on_watch(Watch begin, Watch end, Settle settle);

  // Returns nothing when there are too many (`counted` ones), of all or of this principal. `first`
  // is called before anything is told.
  std::optional<Id> add(
      std::string principal_id, const Filter& filter, Tell tell, bool counted,
      const std::function<void()>& first = [] {});
  // When this returns, no more is told but what this thread is just telling.
  void remove(Id id);
  // Returns false when there are too many.
  bool watch_uri(Id id, const std::string& uri);
  void unwatch_uri(Id id, const std::string& uri);

  void tools_changed() { tell_all({Change::Kind::kTools, {}}, nullptr); }
  void prompts_changed() { tell_all({Change::Kind::kPrompts, {}}, nullptr); }
  void resources_changed(const std::string& principal_id) {
    tell_all({Change::Kind::kResources, {}}, &principal_id);
  }
  void resource_updated(const std::string& principal_id, const std::string& uri) {
    tell_all({Change::Kind::kResource, uri}, &principal_id);
  }
  void task_changed(const std::string& principal_id, const std::string& id) {
    tell_all({Change::Kind::kTask, id}, &principal_id);
  }
  void task_progress(const std::string& principal_id, const std::string& id, double progress,
                     const std::string& message) {
    tell_all({Change::Kind::kTaskProgress, id, progress, message}, &principal_id);
  }

 private:
  struct Listener {
    std::string principal_id;
    Tell tell;
    bool counted = false;
    Filter filter;  // under mutex_
    std::mutex telling;
    std::atomic<std::thread::id> teller;  // who holds it to tell
    bool removed = false;                 // under telling
  };
  struct Held {
    std::size_t listeners = 0;  // counted ones
    std::size_t wishes = 0;     // to hear of a URI or a task
  };
  // It is called with mutex_ held. Returns false when that is too much.
  bool take(const std::string& principal_id, const Held& wanted);
  void give_back(const std::string& principal_id, const Held& held);

  using Subject = std::pair<std::string, std::string>;  // principal, kind and name

  void tell_all(const Change& change, const std::string* principal_id);
  // Returns true when there is a first wish.
  bool begin_all(const std::string& principal_id, const Filter& filter);
  bool begin(const std::string& principal_id, const Change& subject);
  static bool wants(const Filter& filter, const Change& change);
  void end(const std::string& principal_id, const Change& subject);

  std::mutex mutex_;
  Id last_id_ = 0;
  std::size_t counted_ = 0;
  std::map<std::string, Held> held_of_;  // principal; none that holds nothing
  std::map<Id, std::shared_ptr<Listener>> listeners_;
  std::mutex watch_mutex_;  // taken first: begins and ends of one subject come in order
  std::map<Subject, std::size_t> watched_;
  Watch begin_;
  Watch end_;
  Settle settle_;
};

}  // namespace mcp
