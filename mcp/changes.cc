#include "mcp/changes.h"

#include <vector>

namespace mcp {
namespace {

std::string name_of(const Change& subject) {
  return (subject.kind == Change::Kind::kTask ? "task " : "resource ") + subject.subject;
}

std::size_t wishes_in(const Changes::Filter& filter) {
  return filter.uris.size() + filter.task_ids.size();
}

}  // namespace

void Changes::on_watch(Watch begin, Watch end, Settle settle) {
  begin_ = std::move(begin);
  end_ = std::move(end);
  settle_ = std::move(settle);
}

std::optional<Changes::Id> Changes::add(std::string principal_id, const Filter& filter, Tell tell,
                                        bool counted, const std::function<void()>& first) {
  {
    const std::lock_guard lock(mutex_);
    if (!take(principal_id, {counted ? 1U : 0U, wishes_in(filter)})) return std::nullopt;
  }
  // Before it is listened: once it is, nothing that happens to them is missed.
  if (begin_all(principal_id, filter) && settle_) settle_(principal_id);
  const auto listener = std::make_shared<Listener>();
  listener->principal_id = std::move(principal_id);
  listener->tell = std::move(tell);
  listener->counted = counted;
  listener->filter = filter;
  Id id = 0;
  // Held until `first` has been called: what changes meanwhile is told after it.
  const std::lock_guard telling(listener->telling);
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    listeners_[id] = listener;
  }
  first();
  return id;
}

bool Changes::take(const std::string& principal_id, const Held& wanted) {
  Held& own = held_of_[principal_id];
  const bool room = (wanted.listeners == 0 || own.listeners < kListenersMax - counted_) &&
                    own.wishes + wanted.wishes <= kWishesEachMax;
  counted_ += wanted.listeners;
  own.listeners += wanted.listeners;
  own.wishes += wanted.wishes;
  if (!room) give_back(principal_id, wanted);
  return room;
}

void Changes::give_back(const std::string& principal_id, const Held& held) {
  counted_ -= held.listeners;
  const auto own = held_of_.find(principal_id);
  own->second.listeners -= held.listeners;
  own->second.wishes -= held.wishes;
  if (own->second.listeners == 0 && own->second.wishes == 0) held_of_.erase(own);
}

bool Changes::begin_all(const std::string& principal_id, const Filter& filter) {
  const std::lock_guard watch_lock(watch_mutex_);
  bool is_first = false;
  for (const auto& uri : filter.uris) {
    is_first = begin(principal_id, {Change::Kind::kResource, uri}) || is_first;
  }
  for (const auto& task : filter.task_ids) {
    is_first = begin(principal_id, {Change::Kind::kTask, task}) || is_first;
  }
  return is_first;
}

void Changes::remove(Id id) {
  std::shared_ptr<Listener> listener;
  {
    const std::lock_guard watch_lock(watch_mutex_);
    {
      const std::lock_guard lock(mutex_);
      const auto found = listeners_.find(id);
      if (found == listeners_.end()) return;
      listener = found->second;
      give_back(listener->principal_id, {listener->counted ? 1U : 0U, wishes_in(listener->filter)});
      listeners_.erase(found);
    }
    for (const auto& uri : listener->filter.uris) {
      end(listener->principal_id, {Change::Kind::kResource, uri});
    }
    for (const auto& task : listener->filter.task_ids) {
      end(listener->principal_id, {Change::Kind::kTask, task});
    }
  }
  // Whoever is told may let the last of a client go, on this very thread.
  if (listener->teller == std::this_thread::get_id()) {
    listener->removed = true;
    return;
  }
  const std::lock_guard telling(listener->telling);
  listener->removed = true;
}

bool Changes::watch_uri(Id id, const std::string& uri) {
  std::unique_lock watch_lock(watch_mutex_);
  std::string principal_id;
  {
    const std::lock_guard lock(mutex_);
    const auto found = listeners_.find(id);
    if (found == listeners_.end()) return false;
    auto& uris = found->second->filter.uris;
    if (uris.contains(uri)) return true;
    principal_id = found->second->principal_id;
    if (uris.size() >= kWatchedEachMax || !take(principal_id, {0, 1})) return false;
    uris.insert(uri);
  }
  const bool begun = begin(principal_id, {Change::Kind::kResource, uri});
  watch_lock.unlock();
  if (begun && settle_) settle_(principal_id);
  return true;
}

void Changes::unwatch_uri(Id id, const std::string& uri) {
  const std::lock_guard watch_lock(watch_mutex_);
  std::string principal_id;
  {
    const std::lock_guard lock(mutex_);
    const auto found = listeners_.find(id);
    if (found == listeners_.end() || found->second->filter.uris.erase(uri) == 0) return;
    principal_id = found->second->principal_id;
    give_back(principal_id, {0, 1});
  }
  end(principal_id, {Change::Kind::kResource, uri});
}

bool Changes::begin(const std::string& principal_id, const Change& subject) {
  if (++watched_[{principal_id, name_of(subject)}] > 1) return false;
  if (begin_) begin_(principal_id, subject);
  return true;
}

void Changes::end(const std::string& principal_id, const Change& subject) {
  const auto found = watched_.find({principal_id, name_of(subject)});
  if (found == watched_.end() || --found->second > 0) return;
  watched_.erase(found);
  if (end_) end_(principal_id, subject);
}

bool Changes::wants(const Filter& filter, const Change& change) {
  switch (change.kind) {
    case Change::Kind::kTools:
      return filter.tools;
    case Change::Kind::kPrompts:
      return filter.prompts;
    case Change::Kind::kResources:
      return filter.resources;
    case Change::Kind::kResource:
      return filter.uris.contains(change.subject);
    case Change::Kind::kTask:
      return filter.task_ids.contains(change.subject);
    case Change::Kind::kTaskProgress:
      return filter.progress && filter.task_ids.contains(change.subject);
  }
  return false;
}

void Changes::tell_all(const Change& change, const std::string* principal_id) {
  std::vector<std::shared_ptr<Listener>> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, listener] : listeners_) {
      if (principal_id != nullptr && listener->principal_id != *principal_id) continue;
      if (wants(listener->filter, change)) told.push_back(listener);
    }
  }
  for (const auto& listener : told) {
    const std::lock_guard telling(listener->telling);
    if (listener->removed) continue;
    listener->teller = std::this_thread::get_id();
    listener->tell(change);
    listener->teller = std::thread::id();
  }
}

}  // namespace mcp
