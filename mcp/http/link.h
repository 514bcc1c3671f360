// A Link is one client's connection: what has come of its next request, what still has to leave,
// and who works on it. Nothing here waits but the reading of a body.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "mcp/http/body_shares.h"
#include "mcp/http/bounds.h"
#include "mcp/http/library.h"
#include "mcp/http/message.h"

namespace mcp::http {

class Link;

// Gives all connections what they share: events, threads, room. Safe from any thread.
class LinkHost {
 public:
  virtual ~LinkHost() = default;
  // Reports the next of these epoll(7) events, once, by Link::on_event().
  virtual void arm(const Link& link, std::uint32_t events) = 0;
  // A whole head is there: somebody is to serve it, in the turn of `asker`. False: too much is
  // waiting already.
  virtual bool serve(std::shared_ptr<Link> link, const std::string& asker) = 0;
  virtual void forget(const Link& link) = 0;
  // Is told that the link refuses what has come before there was a request.
  virtual void refused(const Link& link, int status, const std::string& request_id) = 0;
  // Runs it on another thread, in the turn of `asker`, where it may take its time; on this one when
  // no other takes it.
  virtual void run(const std::string& asker, std::function<void()> work) = 0;
  // Takes so much of bounds().waiting_bytes for `owner`. False: there is no room for it.
  virtual bool reserve_output(const std::string& owner, std::size_t bytes) = 0;
  virtual void release_output(const std::string& owner, std::size_t bytes) = 0;
  // Returns whether others want some of it, and `owner` holds more than its part.
  [[nodiscard]] virtual bool wants_output_back(const std::string& owner) const = 0;
  virtual BodyShares& bodies() = 0;
  [[nodiscard]] virtual const Bounds& bounds() const = 0;
  // Returns whether no request is taken after the one that is served.
  [[nodiscard]] virtual bool draining() const = 0;
};

class Link final : public Stream, public std::enable_shared_from_this<Link> {
 public:
  using Clock = std::chrono::steady_clock;

  // Owns `fd`, which does not block.
  Link(LinkHost& host, int fd, std::uint64_t id, std::string peer);
  ~Link() override;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // Returns whom a request counts for whose principal is not known, see network_of().
  [[nodiscard]] const std::string& asker_of_unknown() const { return asker_of_unknown_; }

  // These are called by the thread that polls:
  void on_event(std::uint32_t events);
  void on_time(Clock::time_point now);  // now and then
  // Ends it when nothing of a request has come. False: it is in use.
  bool end_if_idle();
  // Ends it when no whole head of a request has come, and nothing more of it is there to be read.
  // False: it is in use.
  bool end_if_half_asked();
  // Returns the id of the principal that has asked last; empty when it is not known.
  [[nodiscard]] std::string owner() const;
  // Returns whether a request has come that is not answered.
  [[nodiscard]] bool is_asked();
  // Ends it whatever it does.
  void end();

  // These are called by the thread that serves, between serve() and finish() or refuse():
  std::string take_head();
  std::size_t take_body(char* bytes, std::size_t size);  // bytes that have come with the head
  void belongs_to(const std::string& principal_id);
  // The answer comes later, by finish(); `gone` is called if the client goes before.
  void wait_for_answer(std::function<void()> gone);
  void finish(Answer answer);
  // The connection goes on without this, which ends.
  void give_away(const std::string& head, const std::function<void(Taken)>& take_over);
  void refuse(int status, const std::string& request_id);

  // These are called once it streams:
  bool send(std::string bytes) override;
  bool send_patiently(std::string bytes) override;
  [[nodiscard]] bool has_room() const override;
  void close() override;
  void break_off() override;
  void on_gone(std::function<void()> callback) override;

 private:
  enum class State { kHead, kServed, kFlushing, kStreaming, kLingering, kEnded };
  using Lock = std::unique_lock<std::mutex>;

  [[nodiscard]] bool has_input() const;
  // Returns who is likely to ask next: the principal that has asked last, or the unknown one at the
  // other end.
  [[nodiscard]] std::string asker() const;
  [[nodiscard]] bool has_room_now() const;
  // Returns when there is room, the link has ended, or its client has taken nothing for too long.
  void wait_for_room(Lock& lock);
  void read_head(Lock& lock);
  void next_request(Lock& lock);
  void discard(Lock& lock);
  bool send(std::string bytes, Lock& lock);
  bool queue(std::string bytes);
  void flush(Lock& lock);
  // Returns false when it goes on once the client has taken more, or has ended.
  bool send_file(Lock& lock);
  void flush_file();
  void take_more(std::size_t bytes);
  void wait_for_room();
  void flushed(Lock& lock);
  void refuse(int status, Lock& lock);
  void refuse(int status, const std::string& request_id, Lock& lock);
  void linger();
  void give_up();
  void end(Lock& lock);

  LinkHost& host_;
  const int fd_;
  const std::uint64_t id_;
  const std::string peer_;
  const std::string asker_of_unknown_;
  mutable std::mutex mutex_;
  std::condition_variable less_waits_;  // or the link has ended
  State state_ = State::kHead;
  std::string in_;
  std::size_t searched_ = 0;  // bytes of in_ without the end of the head
  std::string owner_;         // whose output waits to be sent; another's only while none does
  std::string out_;
  std::size_t written_ = 0;   // bytes of out_ that are sent
  FileBody file_;             // its unsent rest, behind out_
  std::size_t progress_ = 0;  // written since the deadline was set
  std::size_t behind_ = 0;    // bytes of out_ behind the event that passed the bound of a stream
  std::uint64_t times_emptied_ = 0;
  bool close_after_flush_ = false;
  bool write_armed_ = false;
  bool given_up_ = false;
  Clock::time_point deadline_;
  std::size_t lingered_ = 0;
  std::function<void()> gone_;
};

}  // namespace mcp::http
