// A TreeWatch tells what changes in a directory of a box, and, of all that is below it, also what
// was in a new directory before that could be watched.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/files/directory_watch.h"

namespace tools::api::e2b {

// It is for one thread. `mkdir -p a/b` and a directory that is moved in come as one event of the
// kernel: the rest is looked for, and is told as if it had come then.
class TreeWatch {
 public:
  using Depth = sandbox::files::DirectoryWatch::Depth;
  using Events = std::vector<sandbox::files::DirectoryEvent>;

  // One take() finds so much in new directories, at most: as much as the kernel keeps of events.
  static constexpr std::size_t kFoundMost = 16'384;
  static constexpr std::size_t kFoundBytesMost = std::size_t{4} << 20;  // their names

  // Starts as DirectoryWatch::start() does.
  static base::Result<std::unique_ptr<TreeWatch>> start(int root_fd, const std::string& path,
                                                        Depth depth);

  // Returns a descriptor that is readable when there is something to take.
  [[nodiscard]] int fd() const { return watch_->fd(); }

  // Takes as DirectoryWatch::take() does; kLimit, too, when new directories hold more than is
  // looked through.
  base::Result<Events> take();
  [[nodiscard]] bool is_over() const { return watch_->is_over(); }

 private:
  // Found holds names that this take() has found, each with whether it was told that the file has
  // content.
  struct Found {
    std::map<std::string, bool> told = {};
    std::size_t bytes = 0;
  };
  using Places = std::map<std::string, std::size_t>;

  TreeWatch(std::unique_ptr<sandbox::files::DirectoryWatch> watch, base::UniqueFd top, Depth depth)
      : watch_(std::move(watch)), top_(std::move(top)), depth_(depth) {}

  base::Status tell(const Events& batch, Found& found, Events& events) const;
  base::Status look_into(const std::string& name, std::size_t at, const Places& last_come,
                         Found& found, Events& events) const;
  // Returns false when it is told already, since it happened before that was found.
  [[nodiscard]] bool is_news(sandbox::files::DirectoryEvent& event, Found& found) const;

  std::unique_ptr<sandbox::files::DirectoryWatch> watch_;
  base::UniqueFd top_;  // O_PATH
  const Depth depth_;
};

}  // namespace tools::api::e2b
