#include "mcp/stdio_transport.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/connection.h"
#include "mcp/exchange.h"
#include "mcp/line_splitter.h"
#include "mcp/outbox.h"
#include "mcp/worker_pool.h"

namespace mcp {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 256U << 10;
constexpr milliseconds kCancelPatience{2000};  // for cancelled calls, before the output is closed
constexpr milliseconds kLastChance{2000};      // for a slow client to take the last replies
constexpr milliseconds kLookAround{50};        // between looks at the descriptors while waiting

class StdioSession {
  // All messages of a client share the one output.
  class Output final : public Exchange {
   public:
    explicit Output(StdioSession& session) : session_(session) {}
    void send(const nlohmann::json& message) override { session_.send(print(message)); }
    void send_if_room(const nlohmann::json& message) override {
      session_.outbox_.send_if_room(print(message));
    }
    void end() noexcept override {}

   private:
    StdioSession& session_;
  };

 public:
  StdioSession(const Server& server, const StdioOptions& options)
      : options_(options),
        outbox_(options.out_fd, options.outbox_bytes_max),
        output_(std::make_shared<Output>(*this)),
        connection_(server, connection_options()),
        pool_(options.threads_max, options.queue_max),
        lines_(options.line_bytes_max) {}

  void run() {
    std::vector<char> buffer(kReadBytes);
    while (wait_for_input()) {
      const ssize_t got = ::read(options_.in_fd, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) {
        if (got == 0 && lines_.finish()) (void)take_line();
        break;
      }
      if (!take({buffer.data(), static_cast<std::size_t>(got)})) break;
    }
    finish();
  }

 private:
  Connection::Options connection_options() {
    return {.id = options_.connection_id,
            .principal = options_.principal,
            .run = [this](std::function<void()> work) { return pool_.run(std::move(work)); },
            .unsolicited =
                [this](const nlohmann::json& message) { outbox_.send_if_room(print(message)); }};
  }

  // Workers wait for a slow client. The reader must not: it has the input's end and the stop to
  // see, and looks for room before each message.
  void send(std::string line) {
    if (std::this_thread::get_id() == reader_) {
      outbox_.send_now(std::move(line));
    } else {
      outbox_.send(std::move(line));
    }
  }

  // False: stop.
  bool take(std::string_view bytes) {
    while (!bytes.empty()) {
      if (lines_.feed(bytes) && !take_line()) return false;
    }
    return true;
  }

  bool take_line() {
    if (!wait_for_room()) return false;
    if (lines_.was_too_long()) {
      connection_.refuse(
          {kInvalidRequest,
           "message longer than " + std::to_string(options_.line_bytes_max) + " bytes", nullptr,
           lines_.id_of_skipped()},
          output_);
    } else if (!lines_.line().empty()) {
      connection_.receive(lines_.line(), output_);
    }
    return true;
  }

  // False: stop. A client that reads slowly may take its time as long as it may want to say
  // something; one that has said all must go on reading.
  bool wait_for_room() {
    while (!outbox_.wait_for_room(kLookAround)) {
      if (stopped()) return false;
      if (has_event(options_.in_fd, POLLRDHUP) && !outbox_.wait_for_room(kLastChance)) return false;
    }
    return !outbox_.closed();
  }

  // True when there is something to read, be it the end. False: stop.
  bool wait_for_input() {
    while (true) {
      // Nothing is asked of the output but whether its reader is gone.
      pollfd entries[] = {{options_.in_fd, POLLIN, 0},
                          {options_.stop_fd, POLLIN, 0},
                          {outbox_.closed_fd(), POLLIN, 0},
                          {options_.out_fd, 0, 0}};
      if (::poll(entries, std::size(entries), -1) < 0) {
        if (errno == EINTR) continue;
        return false;
      }
      if (entries[1].revents != 0 || entries[2].revents != 0) return false;
      if (entries[0].revents != 0) return true;
      if (entries[3].revents != 0) return false;
    }
  }

  void finish() {
    connection_.end_subscriptions();
    if (!outbox_.closed() && wait_for_calls()) {
      (void)outbox_.drain(kLastChance);
      return;
    }
    connection_.disconnect();
    (void)pool_.wait_until_idle(kCancelPatience);
    (void)outbox_.drain(kLastChance);
    // Frees the workers that still wait for room; the destructor of the pool waits for them.
    outbox_.close();
  }

  // True when all have ended within the grace; a stop or the client's going ends it.
  bool wait_for_calls() {
    const auto end = Clock::now() + options_.grace;
    // A call may be open without a thread: it waits for a task.
    while (!pool_.wait_until_idle(kLookAround) || connection_.open_requests() > 0) {
      pollfd stop{options_.stop_fd, POLLIN, 0};
      (void)::poll(&stop, 1, static_cast<int>(kLookAround.count()));
      if (Clock::now() >= end || stopped()) return false;
      if (outbox_.closed() || has_event(options_.out_fd, 0)) return false;
    }
    return true;
  }

  [[nodiscard]] bool stopped() const { return has_event(options_.stop_fd, POLLIN); }

  static bool has_event(int fd, short events) {
    pollfd entry{fd, events, 0};
    return fd >= 0 && ::poll(&entry, 1, 0) > 0;
  }

  const StdioOptions options_;
  const std::thread::id reader_ = std::this_thread::get_id();
  // The pool goes first: its workers use the others.
  Outbox outbox_;
  const std::shared_ptr<Exchange> output_;
  Connection connection_;
  WorkerPool pool_;
  LineSplitter lines_;
};

}  // namespace

void serve_stdio(const Server& server, const StdioOptions& options) {
  StdioSession(server, options).run();
}

}  // namespace mcp
