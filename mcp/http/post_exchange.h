// The answer to one POST: JSON when it comes soon and alone, else a stream of events.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "mcp/exchange.h"
#include "mcp/http/event_log.h"
#include "mcp/http/message.h"
#include "base/json_value.h"

namespace mcp::http {

// Events go to an EventSink once there is a stream. Safe from many threads.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void put(const std::string& message) = 0;
  virtual void put_if_room(const std::string& message) = 0;
  virtual void finish() = 0;
};

// Messages that may be dropped are kept anyway up to so many bytes of one answer, since the client
// may not read yet: all of what a short call has to say.
inline constexpr std::size_t kKeptAnywayBytesMax = 64U << 10;

class PostExchange final : public Exchange {
 public:
  using MakeSink = std::function<std::unique_ptr<EventSink>()>;

  // `make_sink` is called when the answer becomes a stream. `on_end` when nothing more will come.
  PostExchange(MakeSink make_sink, std::function<void()> on_end, std::string request_id = {})
      : make_sink_(std::move(make_sink)),
        on_end_(std::move(on_end)),
        request_id_(std::move(request_id)) {}

  void send(const nlohmann::json& message) override;
  void send_if_room(const nlohmann::json& message) override;
  [[nodiscard]] std::string request_id() const override { return request_id_; }
  void end() noexcept override;

  // There will be a stream, however soon the answer comes.
  void begin_stream();
  // Waits for the answer, but no longer than it takes to see that there will be a stream. Nothing:
  // there is one, and sink() is it.
  std::optional<base::JsonValue> wait(std::chrono::milliseconds patience);
  [[nodiscard]] EventSink& sink() const { return *sink_; }

 private:
  void become_stream();

  const MakeSink make_sink_;
  std::function<void()> on_end_;
  const std::string request_id_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<EventSink> sink_;
  std::optional<base::JsonValue> answer_;
  std::size_t kept_anyway_bytes_ = 0;
  bool ended_ = false;
};

// A DirectSink goes straight to the client: the events of a modern request, which cannot be
// resumed.
class DirectSink final : public EventSink {
 public:
  void put(const std::string& message) override;
  void put_if_room(const std::string& message) override;
  void finish() override;
  // Sends all to `stream` from now on, first what has come before.
  void attach(std::shared_ptr<Stream> stream);

 private:
  std::mutex mutex_;
  std::shared_ptr<Stream> stream_;
  std::string early_;
  bool finished_ = false;
};

// A LoggedSink writes into the log of a legacy session, from where the client reads it.
class LoggedSink final : public EventSink {
 public:
  explicit LoggedSink(std::shared_ptr<EventLog> log)
      : log_(std::move(log)), stream_(log_->open()) {}
  void put(const std::string& message) override { log_->append(stream_, message); }
  void put_if_room(const std::string& message) override { log_->append_if_room(stream_, message); }
  void finish() override { log_->finish(stream_); }
  [[nodiscard]] std::uint64_t stream() const { return stream_; }

 private:
  const std::shared_ptr<EventLog> log_;
  const std::uint64_t stream_;
};

// Drops what is sent: it is for messages that are not to be answered.
class NoAnswerExchange final : public Exchange {
 public:
  void send(const nlohmann::json&) override {}
  void send_if_room(const nlohmann::json&) override {}
  void end() noexcept override {}
};

}  // namespace mcp::http
