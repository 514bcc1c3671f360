// Bytes both ways between two sockets, for as long as either side sends: one thread for all pairs,
// and of each at most so much in memory. epoll(7).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace tools::ports {

// Looks at what comes first from the server. Given all that has come so far, it takes off what it
// has understood and gives what the client gets in its place; nothing: more has to come first.
using Opening = std::function<base::Result<std::optional<std::string>>(std::string& come)>;

struct Pair {
  base::UniqueFd client = {};  // neither blocks
  // When it is not valid, the client gets `failure`, and what it sends meanwhile leads nowhere.
  base::UniqueFd server = {};
  std::string to_server = {};  // before what the client sends
  Opening opening = nullptr;
  std::string failure = {};  // told to the client when the server goes before its opening is over
  // Without a byte either way for so long the server has gone; afterwards, the pair is over.
  std::chrono::seconds opening_patience = std::chrono::hours(24);
  std::chrono::seconds quiet_patience = std::chrono::hours(24) * 365;
  std::shared_ptr<const void> room = nullptr;          // held until it is over
  std::shared_ptr<std::atomic<bool>> moved = nullptr;  // set with every byte
};

// It is safe from any thread.
class Pump {
 public:
  static constexpr std::size_t kPairsMax = 896;

  static base::Result<std::unique_ptr<Pump>> start();
  // Ends all pairs.
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  // Fails with kLimit when there are kPairsMax.
  base::Status add(Pair pair);

 private:
  using Clock = std::chrono::steady_clock;
  // A Half is one direction.
  struct Half {
    std::string waiting;
    std::size_t written = 0;
    bool ended = false;    // nothing more comes
    bool told = false;     // and the other side knows
    bool dropped = false;  // the other side takes no more
    std::uint64_t moved_bytes = 0;

    [[nodiscard]] bool is_empty() const { return written == waiting.size(); }
  };
  struct Entry {
    Pair pair;
    Half up;    // to the server
    Half down;  // to the client
    bool opened = false;
    std::size_t looked_at_bytes = 0;  // by the opening
    std::uint64_t moved_bytes = 0;
    Clock::time_point moved_at = Clock::now();
    std::uint32_t client_events = 0;
    std::uint32_t server_events = 0;
    Clock::time_point ends_at = Clock::time_point::max();
  };

  Pump(base::UniqueFd epoll, base::UniqueFd wakeup)
      : epoll_(std::move(epoll)), wakeup_(std::move(wakeup)) {}

  void run(const std::stop_token& stop);
  void take_new();
  void look_at_time();
  void end_what_is_over();
  void on_event(std::uint64_t key);
  // Returns false when the pair is over.
  static bool move(Entry& entry);
  static bool read(int fd, Half& half);
  static bool write(int fd, Half& half);
  static bool has_to_be_looked_at(Entry& entry);
  static void open(Entry& entry);
  static void fail(Entry& entry);
  bool watch(std::uint64_t id, Entry& entry);
  bool watch(std::uint64_t key, int fd, std::uint32_t wanted, std::uint32_t& events) const;

  base::UniqueFd epoll_;
  base::UniqueFd wakeup_;
  std::mutex mutex_;
  std::vector<Pair> new_;
  std::size_t count_ = 0;                   // with the new ones
  std::map<std::uint64_t, Entry> entries_;  // the thread's alone
  std::uint64_t last_id_ = 0;
  Clock::time_point looked_at_ = Clock::now();
  std::jthread thread_;
};

}  // namespace tools::ports
