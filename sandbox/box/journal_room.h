// Room for what a box writes of the network. Half full, its servers are asked to take it over;
// full, the door lets nothing new begin until one has. Without a server it may become larger.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "sandbox/box/event_loop.h"
#include "sandbox/network_journal.h"

namespace sandbox::box {

class JournalRoom {
 public:
  static constexpr std::int64_t kBytesMost = 2 << 20;  // beside a server
  static constexpr std::int64_t kBytesMostAlone = 64
                                                  << 20;  // as far as the session's disk has room

  struct Actions {
    std::function<void()> call;          // the servers
    std::function<std::int64_t()> most;  // bytes that it may have now
    std::function<void(bool is_full)> hold_door;
  };

  // Says what its bound depends on.
  struct Around {
    bool is_served = false;                // a server is connected, which takes it over
    std::optional<bool> is_quota_used_up;  // nothing: the file system holds no quota of the box
    std::int64_t disk_left_bytes = 0;      // where there is none; below 0 when more is used
    std::int64_t journal_bytes = 0;        // it is among what is used, too
  };
  // Beside a server it is taken over as it comes. Alone it is a part of what the session keeps.
  static std::int64_t bytes_most(const Around& around);

  JournalRoom(EventLoop& loop, NetworkJournal& journal, Actions actions)
      : loop_(loop), journal_(journal), actions_(std::move(actions)) {}
  ~JournalRoom() { loop_.cancel(timer_); }
  JournalRoom(const JournalRoom&) = delete;
  JournalRoom& operator=(const JournalRoom&) = delete;

  // Something was written.
  void look();

 private:
  void look_again();
  [[nodiscard]] bool is_half_full() const;
  [[nodiscard]] bool is_full() const;
  void hold(bool is_held);

  EventLoop& loop_;
  NetworkJournal& journal_;
  Actions actions_;
  EventLoop::TimerId timer_ = 0;  // while it is half full
  bool is_held_ = false;
  int looks_ = 0;
};

}  // namespace sandbox::box
