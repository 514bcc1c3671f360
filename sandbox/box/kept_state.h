// The snapshot of an interpreter's state, which outlives its process: a child of it writes, this
// keeps, and the next interpreter of the session reads it. Used from the loop's thread.
//
// The file is code, to whoever reads it: nobody does outside of a box of this session. A snapshot
// takes the place of the one before once all of it was read back (snapshot_files.h). Whoever
// writes may be hostile: what it makes hutch-box and the disk do is bounded in bytes, and in time
// by kRestsPerWork.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/side_thread.h"
#include "sandbox/box/snapshot_files.h"

namespace sandbox::box {

class KeptState {
 public:
  // A snapshot that nobody asked for has `unasked_bytes` of what is written anew, or as much as
  // there was before; with the large values that stay each has at most `bytes_in_all`.
  struct Most {
    std::int64_t unasked_bytes = 0;
    std::int64_t bytes_in_all = 0;
  };
  // `directory` is borrowed: that of the session's state, in which the files have `name`, as one
  // language is called.
  static base::Result<std::unique_ptr<KeptState>> open(
      EventLoop& loop, StateDirectory& directory, const std::string& name, const Most& most,
      SnapshotFiles::Check check = check_snapshot_end);
  ~KeptState();
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

  // After a snapshot its writer is not listened to for so many times as long as that took.
  static constexpr int kRestsPerWork = 10;

  // Ends are the descriptors of an interpreter that starts: a pipe that takes packets of a letter
  // and bytes (sandbox/runners/README.md), one that has our answers, and the last snapshot; invalid
  // where there is none. No sockets: code could send descriptors over them, whose end may take as
  // long as it likes. What an interpreter before still writes is dropped.
  struct Ends {
    base::UniqueFd takes;
    base::UniqueFd answers;
    SnapshotFiles::Opened stored;
    // Returns all that are valid, borrowed, in the order in which the interpreter has them.
    [[nodiscard]] std::vector<int> all() const;
  };
  base::Result<Ends> give();
  // The interpreter that they were for did not start.
  void was_not_given();
  // The interpreter that reads the snapshot is ended for a reason of its session's: that counts as
  // the end of a box does.
  void is_not_waited_for() { is_being_read_ = false; }
  // Returns whether the one that was given the snapshot has not read it to its end yet.
  [[nodiscard]] bool is_being_read() const { return is_being_read_; }
  // The kernel, or the watch, has killed something for memory. Returns whether that was the writer
  // of a snapshot, which is the first that is chosen.
  [[nodiscard]] bool take_writer();
  // Does what take_writer() does where the interpreter writes by itself: its snapshot goes on,
  // since only the process can have been killed that reads back what was asked for. Returns true
  // once for each snapshot.
  [[nodiscard]] bool take_reader();

  [[nodiscard]] bool has_snapshot() const;
  // Returns the last run that the snapshot has, or "" where that is not known.
  [[nodiscard]] std::string run_of_snapshot() const { return files_.run_id(); }
  // An interpreter that is asked to begin anew, and all later ones, find nothing; nor does anybody
  // find what was set aside.
  void forget();

  // Says what becomes of a snapshot that is asked for: everything is stored, or why that is not so.
  // With modules alone there is no file that would be worth it, and they would be gone after a
  // wake.
  enum class Outcome {
    kWhole,
    kUnstorable,
    kModulesAlone,
    kTooLarge,
    kNoShare,
    kNoRoom,
    kNotWritten
  };
  using Heard = std::function<void(Outcome outcome)>;
  // The interpreter is asked to store all that it knows (Worker::store()), and whatever rest is on
  // ends. Returns the number that its snapshot is to have, and the bytes that it may have:
  // `bytes_max`, or more where more was stored before, or less where the share is used up. `then`
  // hears later what became of it; a wish before this one is not heard of any more.
  struct Wish {
    std::int64_t number = 0;
    std::int64_t bytes_max = 0;
  };
  Wish await(std::int64_t bytes_max, Heard then);

  // Two interpreters in a row have ended before they had read the snapshot, or six boxes: it was
  // set aside.
  [[nodiscard]] bool take_set_aside();
  // The host's disk had no room for a snapshot since the last one that was stored. Said once until
  // there is one again.
  [[nodiscard]] bool take_no_room();
  // So it is with what the sessions of the principal may store together (kShareUsedUp).
  [[nodiscard]] bool take_no_share();

 private:
  using Clock = std::chrono::steady_clock;

  KeptState(EventLoop& loop, StateDirectory& directory, const std::string& name, const Most& most,
            SnapshotFiles::Check check);

  void reader_has_ended();
  void on_packets();
  // Returns whether something was read. At most `bytes_max`.
  bool read_some(std::size_t bytes_max);
  // Takes the next packet of what was read. False when there is no whole one.
  bool take_packet();
  void handle(char letter, std::string_view content);
  void begin_file(std::int64_t wish);
  void begin_large(std::int64_t number);
  void add(std::string_view bytes, bool is_large);
  void drop_snapshot(Outcome outcome);
  // A packet 'E' has these numbers.
  struct Whole {
    std::int64_t bytes;
    std::int64_t missing;  // names of the interpreter that it has not
    std::int64_t large;
    std::int64_t too_large;  // among what is missing
  };
  void commit(const Whole& said);
  void end_snapshot(Outcome outcome);
  void wait_on();
  void answer(Outcome outcome);
  [[nodiscard]] bool is_wished() const { return wisher_ && snapshot_wish_ == last_wish_; }
  // Returns how many bytes a snapshot may have because of the one before; with large values that
  // stay, where it is to have `bytes` and the share is used up; one that nobody has asked for; the
  // one that is on; and that with large values that stay.
  [[nodiscard]] std::int64_t as_before_most() const;
  [[nodiscard]] std::int64_t without_share(std::int64_t bytes) const;
  [[nodiscard]] std::int64_t unasked_most() const;
  [[nodiscard]] std::int64_t bytes_most() const;
  [[nodiscard]] std::int64_t in_all_most() const;
  [[nodiscard]] bool has_share() const { return no_share_ == NoRoom::kNo; }
  [[nodiscard]] std::int64_t stored_bytes() const;
  // Returns why a snapshot is not stored that is larger than it may be.
  [[nodiscard]] Outcome too_large() const;
  // Returns why one is not stored that could not be written.
  [[nodiscard]] Outcome not_written();
  void tell(std::chrono::milliseconds next);
  [[nodiscard]] bool find_room();
  void look_at_share();
  void has_been_read(std::int64_t large, std::int64_t place);
  // Tells who writes when it may come again, and hears nothing of it until then.
  void rest();
  void listen(bool listens);
  void listen_in(std::chrono::milliseconds pause);
  void end_conversation();
  // Waits for what is put on the disk, which is given up at that time.
  void end_put(Clock::time_point latest);
  void hang_up();

  EventLoop& loop_;
  SnapshotFiles files_;
  const Most most_;
  std::int64_t bytes_before_;  // the size of a snapshot that was read, or of the last asked for
  // So much was stored when the share was used up: it does not grow with what is stored since.
  std::int64_t bytes_at_end_of_share_ = 0;
  bool has_read_large_ = false;  // in this box: before, none are known to be needed
  std::unique_ptr<SideThread> side_;
  std::stop_source put_;    // stops what is being put on the disk
  base::UniqueFd pipe_;     // packets come in
  base::UniqueFd answers_;  // and numbers go out
  std::string unread_;      // bytes of packets, from taken_ on
  std::size_t taken_ = 0;
  std::optional<Clock::time_point> began_;  // the snapshot that is on
  bool is_heard_ = false;
  bool is_being_read_ = false;
  bool was_cut_ = false;      // the snapshot that is on has begun twice
  bool lost_reader_ = false;  // its reader was lost during the snapshot that is on
  std::int64_t commits_ = 0;
  std::int64_t ends_ = 0;  // how often one was written, read or said to be lost
  std::int64_t last_wish_ = 0;
  std::int64_t snapshot_wish_ = 0;  // for which the snapshot is that is on; 0: for none
  std::int64_t wish_bytes_max_ = 0;
  bool wish_lacks_share_ = false;  // it would have more otherwise
  std::int64_t told_large_ = 0;    // the large values that who writes believes to be there
  Heard wisher_;                   // null: nobody waits
  Clock::time_point wish_began_;
  EventLoop::TimerId wish_end_ = 0;
  EventLoop::TimerId rest_end_ = 0;
  bool set_aside_ = false;
  enum class NoRoom { kNo, kYes, kTold };
  NoRoom no_room_ = NoRoom::kNo;
  NoRoom no_share_ = NoRoom::kNo;
};

}  // namespace sandbox::box
