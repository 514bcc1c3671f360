#include "mcp/http/post_exchange.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/http/sse.h"
#include "mcp/message.h"
#include "mcp/worker_pool.h"

namespace mcp::http {

void PostExchange::become_stream() {
  if (sink_ != nullptr) return;
  sink_ = make_sink_();
  changed_.notify_all();
}

void PostExchange::send(const nlohmann::json& message) {
  const std::lock_guard lock(mutex_);
  const bool is_answer = message.is_array() || !message.contains("method");
  if (sink_ == nullptr && is_answer && !answer_) {
    answer_ = message;
    return changed_.notify_all();
  }
  become_stream();
  sink_->put(print(message));
}

void PostExchange::send_if_room(const nlohmann::json& message) {
  const std::string text = print(message);
  const std::lock_guard lock(mutex_);
  become_stream();
  if (kept_anyway_bytes_ + text.size() > kKeptAnywayBytesMax) return sink_->put_if_room(text);
  kept_anyway_bytes_ += text.size();
  sink_->put(text);
}

void PostExchange::begin_stream() {
  const std::lock_guard lock(mutex_);
  become_stream();
}

void PostExchange::end() noexcept {
  std::function<void()> on_end;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (sink_ != nullptr) sink_->finish();
    on_end = std::move(on_end_);
    changed_.notify_all();
  }
  if (on_end) on_end();
}

std::optional<base::JsonValue> PostExchange::wait(std::chrono::milliseconds patience) {
  const auto is_decided = [this] { return answer_ || ended_ || sink_ != nullptr; };
  if (patience.count() > 0) {
    const WorkerPool::Aside aside;
    std::unique_lock lock(mutex_);
    (void)changed_.wait_for(lock, patience, is_decided);
  }
  const std::lock_guard lock(mutex_);
  if (answer_) return std::exchange(answer_, std::nullopt);
  const bool silent = sink_ == nullptr && ended_;
  become_stream();
  // Cancelled before anything was said: a stream that ends at once.
  if (silent) sink_->finish();
  return std::nullopt;
}

void DirectSink::put(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (stream_ != nullptr) {
    (void)stream_->send(message_event(message));
  } else {
    early_ += message_event(message);
  }
}

void DirectSink::put_if_room(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (stream_ != nullptr && stream_->has_room()) (void)stream_->send(message_event(message));
}

void DirectSink::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  if (stream_ != nullptr) stream_->close();
}

void DirectSink::attach(std::shared_ptr<Stream> stream) {
  const std::lock_guard lock(mutex_);
  stream_ = std::move(stream);
  if (!early_.empty()) (void)stream_->send(std::exchange(early_, {}));
  if (finished_) stream_->close();
}

}  // namespace mcp::http
