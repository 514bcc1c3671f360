// Lines on their way to a client that may read slowly: a queue of bounded size and its own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace mcp {

// It is safe from many threads. Whole lines leave in the order they came; a newline is added to
// each. It closes itself when the client is gone: then nothing leaves any more, and nothing waits.
class Outbox {
 public:
  // `fd` is borrowed. `bytes_max` is what may wait; one larger line may go when nothing else waits.
  Outbox(int fd, std::size_t bytes_max);
  // Writes no more; drain() first.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Waits for room.
  void send(std::string line);
  // It never waits, and goes beyond the bound: for a caller that asks wait_for_room() itself.
  void send_now(std::string line);
  // Drops the line when there is no room.
  void send_if_room(std::string line);

  // Returns false when time is up, and true at once when it is closed.
  bool wait_for_room(std::chrono::milliseconds patience);
  // Waits until everything has left or it is closed. False when time is up.
  bool drain(std::chrono::milliseconds patience);

  [[nodiscard]] bool closed() const;
  // Readable once it is closed; for poll(2). -1 when the system had none.
  [[nodiscard]] int closed_fd() const { return closed_fd_; }
  // Drops what waits.
  void close();

 private:
  void enqueue(std::string line);  // with the lock held
  void close_locked();
  void write_lines(const std::stop_token& stop);
  bool write_line(const std::string& line, const std::stop_token& stop) const;

  const int fd_;
  const std::size_t bytes_max_;
  const int closed_fd_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;  // in lines_ and in the line that is being written
  bool closed_ = false;
  std::jthread thread_;
};

}  // namespace mcp
