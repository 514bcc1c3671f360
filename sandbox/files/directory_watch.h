// A DirectoryWatch tells what changes in a directory of a box, as it changes. inotify(7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sandbox::files {

struct DirectoryEvent {
  enum class Kind { kCreate, kWrite, kRemove, kRename, kChmod };
  std::string name;  // relative to the directory that is watched, as it was called then
  Kind kind = Kind::kWrite;
};

// A file that hutch writes appears complete: of its draft nothing is told, and its coming is a
// write, too. For one thread. What happens while nobody asks waits in the kernel, which keeps so
// much and then says that some is lost.
class DirectoryWatch {
 public:
  static constexpr std::size_t kDirectoriesMax = 1000;

  enum class Depth { kOne, kAll };
  // `root_fd` is that of the box. Fails with kNotFound, or with kInvalid for what is no directory;
  // kLimit when it has more directories than kDirectoriesMax, or the user watches more than the
  // host allows.
  static base::Result<std::unique_ptr<DirectoryWatch>> start(int root_fd, const std::string& path,
                                                             Depth depth);

  // Returns a descriptor that is readable when there is something to take.
  [[nodiscard]] int fd() const { return inotify_.get(); }

  // Returns the events that there are now, or the first some thousands of them. kLimit: more
  // happened than could be kept or looked through, or there are too many directories now, and this
  // watch is of no use any more.
  base::Result<std::vector<DirectoryEvent>> take();
  // Returns whether the directory has gone: there will be nothing more to take.
  [[nodiscard]] bool is_over() const { return names_.empty(); }

 private:
  DirectoryWatch(base::UniqueFd inotify, base::UniqueFd top, Depth depth)
      : inotify_(std::move(inotify)), top_(std::move(top)), depth_(depth) {}

  base::Status add(const std::string& name);
  void wait_with(std::string name);
  void add_waiting();
  struct Change {
    unsigned mask = 0;
    std::uint32_t cookie = 0;  // that both events of a rename have
    std::string name;
  };
  void read_event(int watch, const Change& change, std::vector<DirectoryEvent>& events);
  [[nodiscard]] bool is_of_draft(const Change& change, const std::string& path);
  [[nodiscard]] bool has_content(const std::string& path) const;

  base::UniqueFd inotify_;
  base::UniqueFd top_;  // O_PATH
  const Depth depth_;
  std::map<int, std::string> names_;  // by watch: paths below the top, which is ""
  std::vector<std::string> waiting_;  // to be watched, too
  std::uint32_t draft_cookie_ = 0;    // inotify's, from the newest draft that was renamed
  std::size_t entries_read_ = 0;      // since somebody asked
  bool has_too_many_ = false;
};

}  // namespace sandbox::files
