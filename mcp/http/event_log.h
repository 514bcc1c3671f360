// The streams of one legacy session: what was sent on each, so that a client that lost one can take
// it up again where it was. Bounded: what is too old is forgotten, and a client is told so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "mcp/http/budget.h"
#include "mcp/http/message.h"
#include "mcp/http/sse.h"

namespace mcp::http {

// It is safe from many threads.
class EventLog {
 public:
  struct Limits {
    std::size_t bytes = 8U << 20;           // one larger event is kept alone
    std::size_t streams = 64;               // that have ended; those that go on are always kept
    std::shared_ptr<Budget> all = nullptr;  // shared by all logs, which together should keep to it
    std::string principal_id = {};          // whose part of that this log has
  };
  // Messages that answer nothing.
  static constexpr std::uint64_t kUnsolicited = 0;

  explicit EventLog(Limits limits) : limits_(std::move(limits)) {
    streams_.try_emplace(kUnsolicited);
  }
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Opens a new stream without a reader.
  std::uint64_t open();
  void append(std::uint64_t stream, const std::string& message);
  // Sends the message when there is a reader that keeps up; never keeps it.
  void append_if_room(std::uint64_t stream, const std::string& message);
  // Says that nothing more will come: the reader's response ends.
  void finish(std::uint64_t stream);

  // Sends to `reader` the events after `last` that are kept, and then those that come; closes the
  // reader before it. `prime`: `reader` gets an id to resume from at once.
  void attach(const EventId& last, std::shared_ptr<Stream> reader, bool prime);
  // Returns false when attach() would leave something out, or there is no such stream.
  [[nodiscard]] bool can_attach(const EventId& last) const;
  // Returns whether the stream has ended, and `last` was its last event.
  [[nodiscard]] bool is_over(const EventId& last) const;
  // Returns the newest event of the stream.
  [[nodiscard]] EventId last(std::uint64_t stream) const;

  // Ends the reader's response; what comes meanwhile is kept for the next one.
  void detach(std::uint64_t stream);
  // The client of this reader has gone.
  void leave(std::uint64_t stream, const std::shared_ptr<Stream>& reader);
  void close_all();
  [[nodiscard]] bool has_readers() const;

 private:
  struct Event {
    std::uint64_t sequence;
    std::string message;
  };
  struct Channel {
    std::uint64_t last = 0;       // sequence of the newest event
    std::uint64_t forgotten = 0;  // and of the newest that is not kept
    std::deque<Event> events;
    bool finished = false;
    bool taken = false;  // to its end by a reader
    std::shared_ptr<Stream> reader;
  };

  void count(std::size_t bytes);
  void discount(std::size_t bytes);
  [[nodiscard]] bool is_too_much() const;
  [[nodiscard]] bool holds_too_much_of_all() const;
  void forget_old();
  static void send(Channel& channel, std::string event);
  Channel* find(std::uint64_t stream);
  [[nodiscard]] const Channel* find(std::uint64_t stream) const;

  const Limits limits_;
  mutable std::mutex mutex_;
  std::uint64_t last_stream_ = kUnsolicited;
  std::map<std::uint64_t, Channel> streams_;  // oldest first
  std::size_t bytes_ = 0;
};

}  // namespace mcp::http
