// Hears of changes of files and runs that somebody wants to be told of, and tells of them. Files
// are heard of through inotify, a moment after the first of many changes, and looked at through the
// same door as the file tools; what cannot be heard of is looked at and compared. Looking is no use
// of the session, and no descriptor of it stays in a box.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/fd.h"
#include "mcp/changes.h"
#include "sandbox/files/change_feed.h"
#include "tools/sandbox_uri.h"
#include "tools/tools.h"

namespace tools {

// It is safe from many threads.
class ChangeWatch {
 public:
  // Both outlive it.
  ChangeWatch(const Services& services, mcp::Changes& changes);
  ~ChangeWatch();
  ChangeWatch(const ChangeWatch&) = delete;
  ChangeWatch& operator=(const ChangeWatch&) = delete;

  void add(const mcp::Change& subject, const std::string& principal_id);
  void remove(const mcp::Change& subject, const std::string& principal_id);

  // Waits until whatever happens to what was added for this principal will be told; no longer than
  // a second, as a box may not answer.
  void settle(const std::string& principal_id);

 private:
  using Key = std::tuple<mcp::Change::Kind, std::string, std::string>;  // kind, principal, name
  using Time = std::chrono::steady_clock::time_point;

  struct Subject {
    std::string print;  // differs after a change; empty: not seen yet
    Time added_at = std::chrono::steady_clock::now();
    Time look_at{};      // the next look
    Time progress_at{};  // when a task's progress was last told
    bool begun = false;  // it has been looked at once
    std::string session_id;
  };
  // Hears of changes in one session. Only the thread uses it.
  struct Feed {
    std::string principal_id;
    sandbox::files::ChangeFeed changes;
    std::set<Key> keys;
    std::optional<Time> taken_at;  // when something is to be taken
  };
  struct Seen {
    std::string print;
    bool heard = false;  // changes from now on are heard of
    bool ended = false;  // nothing changes any more
    std::string session_id;
    std::string progress;  // a task's
  };
  class Glance;

  void work(const std::stop_token& stop);
  void look(const Key& key, Glance& glance, bool told);
  Seen see_run(const Key& key) const;
  static Time next_look(const Key& key, const Subject& subject, const Seen& seen);
  Seen see_file(const Key& key, const SandboxUri& uri, Glance& glance);
  void tell(const Key& key) const;
  void tell_progress(const Key& key, const Seen& seen);
  Feed* feed_of(const std::string& session_id, const std::string& principal_id);
  void leave(const Key& key, const std::string& session_id);
  std::vector<Key> take_due();
  std::vector<Key> take_heard();
  void leave_removed();
  void wait();
  void wake() const;

  const Services services_;
  mcp::Changes& changes_;
  base::UniqueFd wakeup_;  // eventfd(2)
  std::mutex mutex_;
  std::condition_variable begun_;
  std::map<Key, Subject> subjects_;
  std::vector<std::pair<Key, std::string>> removed_;  // with its session
  std::map<std::string, Feed> feeds_;                 // by session; of the thread
  std::jthread thread_;
};

}  // namespace tools
