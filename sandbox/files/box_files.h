// The files of a box as the code in it sees them: reading, writing, listing from the host's side.
// Everything below the root is hostile and may change while we look.
//
// A client's path is UTF-8, at most 4095 bytes; a relative one is below the session's working
// directory. Links are followed as the code would follow them and never lead out of the box. Errors
// are for the client to read: kInvalid, kNotFound, kConflict, kLimit, kUnavailable (changed
// meanwhile: try again), kUnsupported (no openat2); kInternal is ours.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/files/acting_ids.h"
#include "sandbox/files/box_path.h"

namespace sandbox::files {

class ChangeFeed;

inline constexpr std::int64_t kReadBytesMax = 16 << 20;
inline constexpr std::size_t kWriteBytesMax = 100 << 20;
inline constexpr std::size_t kListEntriesDefault = 1000;
inline constexpr std::size_t kListEntriesMax = 10'000;
inline constexpr std::size_t kListDepthMax = 4096;

// A FileState tells whether a file is still as it was read.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t change_time_ns = 0;  // st_ctime, which code cannot set

  bool operator==(const FileState&) const = default;
};

struct ReadResult {
  std::string path;  // absolute
  std::string content;
  std::int64_t offset = 0;
  std::int64_t total_bytes = 0;  // the file's size when it was opened
  FileState state;               // then
};

using Attributes = std::map<std::string, std::string>;

// kCreate refuses what exists.
enum class WriteMode { kOverwrite, kAppend, kCreate };

struct WriteResult {
  std::string path;                 // absolute, as asked for: a link in it stays
  std::string change;               // created or modified
  std::int64_t bytes = 0;           // the whole file's size afterwards
  std::int64_t previous_bytes = 0;  // 0 when created
};

struct ListEntry {
  std::string path;  // absolute, always UTF-8
  std::string type;  // file, directory, symlink or other
  std::int64_t bytes = 0;
  std::int64_t modified_at_ms = 0;
  mode_t mode = 0;  // the file's own: permissions alone
  // The name is no UTF-8: `path` has \xHH for its bytes and \\ for backslashes. Only the session's
  // code can reach such a file.
  bool escaped = false;
};

struct ListOptions {
  bool recursive = false;
  // Entries whose content, mode or name changed at or after it (st_ctime, which code cannot set).
  std::optional<std::int64_t> changed_since_ms;
  std::size_t max_entries = kListEntriesDefault;  // 1 to kListEntriesMax
  std::size_t max_depth = kListDepthMax;          // levels below `path`, from 1; when recursive
  // It lists only entries whose paths come behind this one, of which there need be none any more:
  // the path of an entry, as it was shown.
  std::string after = {};
};

struct ListResult {
  std::string path;
  // They are in the order of their paths' bytes. Of too many these are the first ones, unless time
  // ran out too.
  std::vector<ListEntry> entries;
  bool truncated = false;
  // All that was left out comes behind the last entry, and a list with `after` has it.
  bool goes_on = false;
  // These say so of what is not deeper than `max_depth`: some is missing for want of time or
  // number, or comes behind the last entry.
  bool lacks_some = false;
  bool has_more_behind = false;
};

// It is safe from many threads; each call switches the ids of its own thread only.
class BoxFiles {
 public:
  // `root` is O_PATH on the box's root.
  BoxFiles(base::UniqueFd root, const Identity& identity,
           std::string working_directory = "/workspace")
      : root_(std::move(root)),
        identity_(identity),
        working_directory_(std::move(working_directory)) {}
  // `uid` is the session's id on the host where it has its own; its group has the same number.
  BoxFiles(base::UniqueFd root, std::optional<std::uint32_t> uid,
           std::string working_directory = "/workspace")
      : BoxFiles(std::move(root), identity_of(uid), std::move(working_directory)) {}

  // Returns up to `limit` bytes, 1 to kReadBytesMax, from `offset`; fewer only at the end. kInvalid
  // beyond the end and for anything but a regular file.
  [[nodiscard]] base::Result<ReadResult> read(const std::string& path, std::int64_t offset,
                                              std::int64_t limit) const;

  // Directories on the way are made. Overwriting and creating are atomic: a reader sees the old
  // file or the new one, and after an error nothing but directories is left. Overwriting keeps the
  // mode but makes a new inode: other hard links keep the old content. Only a file that is a mount
  // of its own is written in place. kUnavailable, and nothing is written, when the file is no
  // longer as it was in `expected`. A file that is made or overwritten has these extended
  // attributes, by their whole names, and no others: kUnsupported where its file system has none,
  // kLimit where that has no room for them.
  [[nodiscard]] base::Result<WriteResult> write(
      const std::string& path, std::string_view content, WriteMode mode,
      const std::optional<FileState>& expected = std::nullopt,
      const Attributes& attributes = {}) const;

  // Returns whether a write to `path` ends in a folder of the host, and so is no use of the
  // session's disk.
  [[nodiscard]] bool is_in_host_folder(const std::string& path) const;

  // Makes each directory of the path below the root, where there is none yet; at its end there may
  // be a file. Never goes through a link.
  [[nodiscard]] base::Status make_directories(const std::string& path) const;

  // Links are listed, not followed; /proc and its like are listed, not entered, as are directories
  // the code may not read. Takes at most a few seconds.
  [[nodiscard]] base::Result<ListResult> list(const std::string& path,
                                              const ListOptions& options) const;

  // Returns stat(2) of what is there, links followed.
  [[nodiscard]] base::Result<struct stat> status_of(const std::string& path) const;

  // Returns where a symbolic link leads, absolute, by one step; empty for what is none.
  [[nodiscard]] base::Result<std::string> link_target_of(const std::string& path) const;

  // Returns what a symbolic link says, as it says it; empty for anything else.
  [[nodiscard]] base::Result<std::string> link_text_of(const std::string& path) const;

  // Makes a symbolic link that says `text` in a directory that is there, to which no link leads. It
  // replaces a file or a link of that name, and nothing else.
  [[nodiscard]] base::Status make_link(const std::string& path, const std::string& text) const;

  // Returns the extended attributes whose names begin with `prefix`, by the rest of their names, as
  // far as names and values together have no more than `bytes_max`, and no value more than 8 KiB.
  // Links are not followed.
  [[nodiscard]] base::Result<Attributes> attributes_of(const std::string& path,
                                                       std::string_view prefix,
                                                       std::size_t bytes_max) const;

  // Returns a regular file, open for reading. Its content may go on changing.
  [[nodiscard]] base::Result<base::UniqueFd> open(const std::string& path) const;

  // Has `feed` hear of `path` under `name`: ChangeFeed::follow().
  [[nodiscard]] bool follow(const std::string& name, const std::string& path,
                            ChangeFeed& feed) const;

 private:
  [[nodiscard]] base::Result<std::string> absolute(const std::string& path) const {
    return resolve_path(root_.get(), path, working_directory_);
  }

  base::UniqueFd root_;
  Identity identity_;
  std::string working_directory_;
};

}  // namespace sandbox::files
