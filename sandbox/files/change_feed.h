// Hearing at once of what happens to files that hostile code writes. inotify(7).
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/fd.h"
#include "sandbox/files/acting_ids.h"

struct inotify_event;

namespace sandbox::files {

inline constexpr std::size_t kFeedWatchesMax = 1024;  // in one feed: each is memory of the kernel

// A ChangeFeed is for the paths of one box, so that what its code does drowns nobody else's news. A
// path is heard of through the file it leads to and through its name in every directory on the way,
// each opened as the file tools do: no path of the box is given to inotify. A watch keeps nothing
// mounted and nothing open. For one thread.
class ChangeFeed {
 public:
  ChangeFeed();

  // Returns false when the system gives no more of them.
  [[nodiscard]] bool valid() const { return inotify_.valid(); }
  // Returns a descriptor that is readable when there is something to take. It is borrowed.
  [[nodiscard]] int fd() const { return inotify_.get(); }

  // Hears of `path` under `name`. To be called again after each of its changes: the way to it may
  // lead elsewhere now. False when something could happen to it unheard: the caller has to look,
  // now and then. `root_fd` is the box's root.
  bool follow(const std::string& name, int root_fd, const Identity& identity,
              const std::string& path);
  void forget(const std::string& name);

  // The names something has happened to since they were followed or taken. All of them after more
  // than the kernel keeps.
  std::set<std::string> take();

 private:
  // A Place is an entry of a watched directory; with no entry, the watched file or directory
  // itself.
  using Place = std::pair<int, std::string>;
  struct Way {
    std::set<Place> places;
    bool whole = true;
  };

  Way find_way(int root_fd, const std::string& path);
  bool add_place(Way& way, int path_fd, const std::string& entry);
  void put(const std::string& name, const std::set<Place>& places);
  void leave_unused(int watch);
  void hear(const inotify_event& event, const std::string& entry, std::set<std::string>& names);

  base::UniqueFd inotify_;
  std::map<std::string, std::set<Place>> followed_;                    // by name
  std::map<int, std::map<std::string, std::set<std::string>>> names_;  // by watch, then entry
};

}  // namespace sandbox::files
