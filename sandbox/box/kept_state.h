// The snapshot of an interpreter's state, which outlives its process: a child of it writes, this
// keeps, and the next interpreter of the session reads it. Used from the loop's thread.
//
// The file is code, to whoever reads it: nobody does outside of a box of this session. A snapshot
// takes the place of the one before once all of it is on the disk. Whoever writes may be hostile:
// what it makes hutch-box and the disk do is bounded in bytes, and in time by kRestsPerWork.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/box/event_loop.h"
#include "sandbox/box/side_thread.h"

namespace sandbox::box {

class KeptState {
 public:
  // `directory_fd` is borrowed: the session's directory. Nothing larger than `bytes_max` is kept.
  static base::Result<std::unique_ptr<KeptState>> open(EventLoop& loop, int directory_fd,
                                                       std::int64_t bytes_max);
  ~KeptState();
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

  // Nothing is heard of who writes for so many times as long as its last snapshot took.
  static constexpr int kRestsPerWork = 10;

  // The descriptors of an interpreter that starts: its end of the socket, which takes packets of a
  // letter and bytes (sandbox/runners/README.md), and the last snapshot, read-only; invalid where
  // there is none. What an interpreter before still writes is dropped.
  struct Ends {
    base::UniqueFd socket;
    base::UniqueFd snapshot;
  };
  base::Result<Ends> give();

  [[nodiscard]] bool has_snapshot() const;
  // An interpreter that is asked to begin anew, and all later ones, find nothing.
  void forget();

  // Two interpreters in a row have ended before they had read the snapshot: it was set aside.
  [[nodiscard]] bool take_set_aside();

 private:
  KeptState(EventLoop& loop, base::UniqueFd directory, std::int64_t bytes_max)
      : loop_(loop), directory_(std::move(directory)), bytes_max_(bytes_max) {}

  void on_packets();
  // False when there is none.
  bool take_packet();
  void begin_file();
  void add(std::string_view bytes);
  void commit(std::int64_t bytes);
  void drop_file();
  // Tells who writes when it may come again, and hears nothing of it until then.
  void rest();
  void listen(bool listens);
  void end_conversation();
  void hang_up();
  [[nodiscard]] int tries() const;
  void set_tries(int tries) const;

  using Clock = std::chrono::steady_clock;

  EventLoop& loop_;
  const base::UniqueFd directory_;
  const std::int64_t bytes_max_;
  std::unique_ptr<SideThread> side_;
  base::UniqueFd socket_;
  base::UniqueFd file_;  // kUnfinished, while it is being written
  std::int64_t file_bytes_ = 0;
  std::optional<Clock::time_point> began_;  // the snapshot that is on
  bool is_heard_ = false;
  EventLoop::TimerId rest_end_ = 0;
  bool set_aside_ = false;
};

}  // namespace sandbox::box
