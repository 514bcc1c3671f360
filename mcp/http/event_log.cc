#include "mcp/http/event_log.h"

#include <algorithm>
#include <utility>

namespace mcp::http {

EventLog::~EventLog() { discount(bytes_); }

void EventLog::count(std::size_t bytes) {
  bytes_ += bytes;
  if (limits_.all != nullptr) limits_.all->add(limits_.principal_id, bytes);
}

void EventLog::discount(std::size_t bytes) {
  bytes_ -= bytes;
  if (limits_.all != nullptr) limits_.all->remove(limits_.principal_id, bytes);
}

bool EventLog::is_too_much() const { return bytes_ > limits_.bytes || holds_too_much_of_all(); }

bool EventLog::holds_too_much_of_all() const {
  return limits_.all != nullptr && limits_.all->exceeded_by(limits_.principal_id);
}

std::uint64_t EventLog::open() {
  const std::lock_guard lock(mutex_);
  streams_.try_emplace(++last_stream_);
  return last_stream_;
}

EventLog::Channel* EventLog::find(std::uint64_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

const EventLog::Channel* EventLog::find(std::uint64_t stream) const {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

// A reader that has gone is not asked again.
void EventLog::send(Channel& channel, std::string event) {
  if (channel.reader != nullptr && !channel.reader->send(std::move(event))) channel.reader.reset();
}

void EventLog::append(std::uint64_t stream, const std::string& message) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(stream);
  if (channel == nullptr || channel->finished) return;
  const EventId id{stream, ++channel->last};
  channel->events.push_back({id.sequence, message});
  count(message.size());
  send(*channel, message_event(message, id));
  forget_old();
}

void EventLog::append_if_room(std::uint64_t stream, const std::string& message) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(stream);
  if (channel == nullptr || channel->reader == nullptr || !channel->reader->has_room()) return;
  // Under the id of the event before it: whoever resumes from here misses nothing else.
  send(*channel, message_event(message, {stream, channel->last}));
}

void EventLog::finish(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(stream);
  if (channel == nullptr) return;
  channel->finished = true;
  channel->taken = channel->reader != nullptr;
  if (channel->reader != nullptr) std::exchange(channel->reader, nullptr)->close();
  forget_old();
}

void EventLog::attach(const EventId& last, std::shared_ptr<Stream> reader, bool prime) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(last.stream);
  if (channel == nullptr) return reader->close();
  if (channel->reader != nullptr) channel->reader->close();
  channel->reader = std::move(reader);
  if (prime) send(*channel, priming_event(last));
  for (const Event& event : channel->events) {
    if (event.sequence <= last.sequence) continue;
    send(*channel, message_event(event.message, {last.stream, event.sequence}));
  }
  if (channel->finished) {
    channel->taken = true;
    if (channel->reader != nullptr) std::exchange(channel->reader, nullptr)->close();
    forget_old();
  }
}

bool EventLog::can_attach(const EventId& last) const {
  const std::lock_guard lock(mutex_);
  const Channel* channel = find(last.stream);
  return channel != nullptr && last.sequence >= channel->forgotten &&
         last.sequence <= channel->last;
}

bool EventLog::is_over(const EventId& last) const {
  const std::lock_guard lock(mutex_);
  const Channel* channel = find(last.stream);
  return channel != nullptr && channel->finished && last.sequence == channel->last;
}

EventId EventLog::last(std::uint64_t stream) const {
  const std::lock_guard lock(mutex_);
  const Channel* channel = find(stream);
  return {stream, channel == nullptr ? 0 : channel->last};
}

void EventLog::detach(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(stream);
  if (channel == nullptr || channel->reader == nullptr) return;
  std::exchange(channel->reader, nullptr)->close();
}

void EventLog::leave(std::uint64_t stream, const std::shared_ptr<Stream>& reader) {
  const std::lock_guard lock(mutex_);
  Channel* channel = find(stream);
  if (channel != nullptr && channel->reader == reader) channel->reader.reset();
}

void EventLog::close_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [id, channel] : streams_) {
    channel.finished = true;
    if (channel.reader != nullptr) std::exchange(channel.reader, nullptr)->close();
  }
}

bool EventLog::has_readers() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& entry) { return entry.second.reader != nullptr; });
}

// Streams that have ended go first, as wholes; then the oldest events of those that go on. The
// newest event of a stream that goes on stays: nobody but this log has it.
void EventLog::forget_old() {
  std::size_t ended = 0;
  for (const auto& [id, channel] : streams_) ended += channel.finished ? 1U : 0U;
  for (auto entry = streams_.begin(); entry != streams_.end();) {
    const bool enough = ended <= limits_.streams && !is_too_much();
    if (enough) return;
    // The newest of the ended ones may be what a client is just about to ask for, or to ask for
    // again.
    const bool wanted = !entry->second.taken || !holds_too_much_of_all();
    if (!entry->second.finished || (ended == 1 && wanted)) {
      ++entry;
      continue;
    }
    for (const Event& event : entry->second.events) discount(event.message.size());
    entry = streams_.erase(entry);
    --ended;
  }
  for (auto& [id, channel] : streams_) {
    while (is_too_much() && channel.events.size() > 1) {
      channel.forgotten = channel.events.front().sequence;
      discount(channel.events.front().message.size());
      channel.events.pop_front();
    }
  }
}

}  // namespace mcp::http
