// The files of an interpreter's snapshot, in the directory of the session's state: one that is
// written anew each time and, where there are large values, a second, which it needs and which
// stays for as long as it does. Whoever writes calls a file of large values by a number. Used from
// the loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/state_directory.h"
#include "sandbox/snapshot_index.h"

namespace sandbox::box {

// Tells whether bytes are those that were added before, in whatever pieces they come. It is quick,
// and no digest: it finds out what a disk has done, and nobody's intent.
class ByteSum {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::uint64_t value() const;
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  static std::uint64_t mixed(std::uint64_t sum, std::uint64_t word);

  std::uint64_t sum_ = 0;
  std::array<char, sizeof(std::uint64_t)> pending_{};  // no whole word yet
  std::size_t pending_size_ = 0;
  std::int64_t bytes_ = 0;
};

class SnapshotFiles {
 public:
  // Looks at the end of a file: fails where that is none of a snapshot.
  using Check = base::Status (*)(int fd);
  // At most so many files of large values are there: the one that is needed and, until that one is
  // not needed any more, the next.
  static constexpr std::size_t kLargeMax = 2;

  // `directory` is borrowed. The files have `name`, as one language is called. Drops what nobody
  // has finished.
  SnapshotFiles(StateDirectory& directory, const std::string& name,
                Check check = check_snapshot_end);
  ~SnapshotFiles() { drop(); }
  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;

  [[nodiscard]] bool is_there() const;
  // Returns the last run that the snapshot has, or "" where that is not known.
  [[nodiscard]] std::string run_id() const;

  // Opened files are read-only, for one interpreter. `large` has whatever there is: a box that was
  // killed leaves two.
  struct Opened {
    base::UniqueFd snapshot;
    std::vector<base::UniqueFd> large;
  };
  [[nodiscard]] base::Result<Opened> open();
  // The snapshot needs the file of large values that `large` of the last Opened has at `place`, and
  // that whoever wrote it calls `number`; number 0: it needs none.
  void needs(std::int64_t number, std::int64_t place);
  // Returns the number of the file that is needed; 0 when none is, or somebody has removed it.
  [[nodiscard]] std::int64_t needed() const;
  // Returns how many bytes the snapshot has that is there, without large values.
  [[nodiscard]] std::int64_t bytes_there() const { return bytes_of(main_name_); }
  // Returns how many bytes the file of large values has that is needed.
  [[nodiscard]] std::int64_t bytes_needed() const;

  // These are for the one that is being written.
  base::Status begin();
  base::Status begin_large(std::int64_t number);
  [[nodiscard]] bool has_begun() const { return main_.file.valid(); }
  base::Status add(std::string_view bytes) { return add(bytes, main_); }
  base::Status add_large(std::string_view bytes) { return add(bytes, large_); }
  // Returns how many came, of both files.
  [[nodiscard]] std::int64_t bytes() const { return main_.bytes + large_.bytes; }
  void drop();

  // It is whole, and needs the large values of `large` (0: none), which came with it or are those
  // of the one before. Fails where neither is so. Returns what puts it on the disk, reads it back
  // from there and puts it in the place of the one before, and says whether it has: for any thread,
  // and for finished() then. Asked to stop, it leaves the one before soon, however large this is.
  using Put = std::function<bool(const std::stop_token& stop)>;
  base::Result<Put> finish(std::int64_t large);
  void finished(bool is_there);
  [[nodiscard]] StateDirectory& directory() const { return directory_; }

  // Removes the snapshot; with forget() whatever was set aside goes, too.
  void remove();
  void forget();
  // Gives it other names, under which nobody looks for it.
  void set_aside();

  // Returns how often it was to be read by somebody who has not said that it was.
  [[nodiscard]] int tries() const;
  void set_tries(int tries) const;

 private:
  static constexpr int kNone = -1;
  struct File {
    base::UniqueFd file;
    std::int64_t bytes = 0;
    std::string unwritten;  // the end of these
    ByteSum sum;            // over the bytes that were written
  };
  struct Large {
    std::int64_t number = 0;
    int slot = kNone;
  };

  static base::Status add(std::string_view bytes, File& to);
  static base::Status write_out(File& file);
  static bool is_on_disk(int fd, const ByteSum& sum, const std::stop_token& stop);
  [[nodiscard]] base::Result<base::UniqueFd> make(const std::string& name) const;
  [[nodiscard]] base::Result<base::UniqueFd> open_one(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::int64_t bytes_of(const std::string& name) const;
  void unlink(const std::string& name) const;

  StateDirectory& directory_;
  const Check check_;
  const std::string main_name_;
  const std::string unfinished_name_;
  const std::array<std::string, kLargeMax> large_names_;  // by slot
  const std::string aside_;                               // the suffix that sets names aside
  // It is as many bytes long as the tries count.
  const std::string tries_name_;
  File main_;
  File large_;
  Large used_;              // by the snapshot that is there
  Large begun_;             // that is being written
  Large next_;              // used by the snapshot that is being finished
  std::vector<int> given_;  // slots of the last Opened
};

}  // namespace sandbox::box
