// Serves HTTP on one listening socket: one thread waits for all connections, a few answer requests.
// Idle connections, slow heads, open streams and slow readers hold no thread, only bounded memory.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "mcp/http/body_shares.h"
#include "mcp/http/bounds.h"
#include "mcp/http/budget.h"
#include "mcp/http/link.h"
#include "mcp/http/message.h"
#include "mcp/worker_pool.h"

namespace mcp::http {

class SocketServer final : private LinkHost {
 public:
  // `listen_fd` and `handler` outlive it. It takes connections at once.
  SocketServer(int listen_fd, Handler& handler, const Bounds& bounds);
  // Ends all connections and waits for the requests that are being answered.
  ~SocketServer() override { stop(); }
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  // Does what the destructor does, once. Afterwards nothing is asked of the handler, and answers
  // that come late are for nobody.
  void stop();

  // Takes no new connections and no further request on the open ones; idle ones end.
  void drain();
  // Waits, after drain(), until each request that had come by then is answered, or its answer
  // streams, or time is up.
  void wait_until_read(std::chrono::milliseconds patience);
  // Waits until the last connection has ended. False when time is up.
  bool wait_until_idle(std::chrono::milliseconds patience);

  [[nodiscard]] std::size_t connections() const;
  [[nodiscard]] std::size_t refused_connections() const { return refused_; }

 private:
  using Clock = Link::Clock;

  void poll_events(const std::stop_token& stop);
  // Returns false when nobody waits any longer.
  bool accept_some();
  void add(int fd, std::string peer);
  void pause_accepting();
  bool make_room();
  [[nodiscard]] std::vector<std::shared_ptr<Link>> of_who_has_most() const;
  void look_at_time();
  void answer(const std::shared_ptr<Link>& link, std::string head, Clock::time_point begun);
  [[nodiscard]] std::shared_ptr<Link> find(std::uint64_t id) const;
  [[nodiscard]] std::vector<std::shared_ptr<Link>> all() const;

  void arm(const Link& link, std::uint32_t events) override;
  bool serve(std::shared_ptr<Link> link, const std::string& asker) override;
  void forget(const Link& link) override;
  void refused(const Link& link, int status, const std::string& request_id) override;
  void run(const std::string& asker, std::function<void()> work) override;
  bool reserve_output(const std::string& owner, std::size_t bytes) override;
  void release_output(const std::string& owner, std::size_t bytes) override {
    output_bytes_.remove(owner, bytes);
  }
  [[nodiscard]] bool wants_output_back(const std::string& owner) const override {
    return output_bytes_.exceeded_by(owner);
  }
  BodyShares& bodies() override { return bodies_; }
  [[nodiscard]] const Bounds& bounds() const override { return bounds_; }
  [[nodiscard]] bool draining() const override { return draining_; }

  const int listen_fd_;
  Handler& handler_;
  const Bounds bounds_;
  const base::UniqueFd epoll_;
  const base::UniqueFd wakeup_;
  const bool escape_percent_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> paused_ = false;
  Budget output_bytes_;
  BodyShares bodies_;
  std::atomic<std::size_t> refused_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::map<std::uint64_t, std::shared_ptr<Link>> links_;  // oldest first
  std::uint64_t last_id_ = 0;
  WorkerPool pool_;
  std::jthread thread_;
};

}  // namespace mcp::http
