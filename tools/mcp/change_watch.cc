#include "tools/mcp/change_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "sandbox/files/box_files.h"
#include "sessions/boxes.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/sessions.h"
#include "sessions/share_table.h"
#include "tools/mcp/run_reply.h"
#include "tools/mcp/tool_kit.h"
#include "tools/session_files.h"

namespace tools {

using Clock = std::chrono::steady_clock;
using Kind = mcp::Change::Kind;

namespace {

constexpr std::chrono::milliseconds kRhythm{500};  // for looks at things that cannot be heard
constexpr std::chrono::seconds kSlowRhythm{5};     // at what can: a mapped file changes in silence
constexpr std::chrono::milliseconds kTaskRhythmLeast{50};
constexpr std::chrono::hours kEndedRhythm{1};
constexpr std::chrono::seconds kProgressEvery{5};
constexpr std::chrono::milliseconds kSettling{250};
constexpr std::chrono::seconds kBeginPatience{1};
constexpr std::size_t kLooksARound = 256;  // then what has been heard of meanwhile comes first
// The system gives a user 128 by default, and each is one session. No principal gets one that would
// give it more than are left for others: without one, changes are looked for in kRhythm.
constexpr std::size_t kFeedsMax = 32;
constexpr const char* kNothing = "none";

std::string print_of_directory(const sandbox::files::BoxFiles& files, const std::string& path) {
  const auto listed = files.list(path, {});
  if (!listed.ok()) return listed.error().kind == base::Error::Kind::kNotFound ? kNothing : "";
  std::string print = "directory";
  for (const auto& entry : listed.value().entries) {
    print += "\n" + entry.path + " " + std::to_string(entry.bytes) + " " +
             std::to_string(entry.modified_at_ms);
  }
  return print;
}

std::string print_of_file(const sandbox::files::BoxFiles& files, const std::string& path) {
  const auto opened = files.open(path);
  if (!opened.ok()) {
    if (opened.error().kind == base::Error::Kind::kNotFound) return kNothing;
    return print_of_directory(files, path);
  }
  struct stat now {};
  if (::fstat(opened.value().get(), &now) != 0) return "";
  return "file " + std::to_string(now.st_ino) + " " + std::to_string(now.st_size) + " " +
         std::to_string(now.st_mtim.tv_sec) + "." + std::to_string(now.st_mtim.tv_nsec) + " " +
         std::to_string(now.st_ctim.tv_sec) + "." + std::to_string(now.st_ctim.tv_nsec);
}

}  // namespace

// The boxes of one round of looks: each is asked for its root once, and left at the end.
class ChangeWatch::Glance {
 public:
  struct Place {
    std::string session_id;
    sandbox::files::BoxFiles files;
  };

  explicit Glance(const Services& services) : services_(services) {}

  // Null without a box: nothing changes then, and looking is no use of it.
  const Place* at(const std::string& principal_id, const std::string& session) {
    const auto [known, is_new] = places_.try_emplace({principal_id, session});
    if (is_new) known->second = open(principal_id, session);
    return known->second.get();
  }

 private:
  [[nodiscard]] std::unique_ptr<Place> open(const std::string& principal_id,
                                            const std::string& name) const {
    const auto session = services_.sessions.find(principal_id, name);
    if (!session.ok()) return nullptr;
    auto root = services_.boxes.look_at_root(session.value());
    if (!root.ok()) return nullptr;
    return std::make_unique<Place>(
        Place{session.value().id, files_in(std::move(root).value(), session.value())});
  }

  const Services& services_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Place>> places_;
};

ChangeWatch::ChangeWatch(const Services& services, mcp::Changes& changes)
    : services_(services),
      changes_(changes),
      wakeup_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

ChangeWatch::~ChangeWatch() = default;

void ChangeWatch::add(const mcp::Change& subject, const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  subjects_.try_emplace({subject.kind, principal_id, subject.subject});
  wake();
}

void ChangeWatch::remove(const mcp::Change& subject, const std::string& principal_id) {
  const std::lock_guard lock(mutex_);
  const auto known = subjects_.find({subject.kind, principal_id, subject.subject});
  if (known == subjects_.end()) return;
  removed_.emplace_back(known->first, std::move(known->second.session_id));
  subjects_.erase(known);
  begun_.notify_all();
  wake();
}

void ChangeWatch::settle(const std::string& principal_id) {
  std::unique_lock lock(mutex_);
  (void)begun_.wait_for(lock, kBeginPatience, [&] {
    return std::all_of(subjects_.begin(), subjects_.end(), [&](const auto& one) {
      return one.second.begun || std::get<1>(one.first) != principal_id;
    });
  });
}

void ChangeWatch::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(wakeup_.get(), &one, sizeof one);
}

void ChangeWatch::work(const std::stop_token& stop) {
  const std::stop_callback waking(stop, [this] { wake(); });
  while (!stop.stop_requested()) {
    leave_removed();
    {
      Glance glance(services_);
      for (const Key& key : take_heard()) look(key, glance, /*told=*/true);
      for (const Key& key : take_due()) {
        if (stop.stop_requested()) return;
        look(key, glance, /*told=*/false);
      }
    }
    if (!stop.stop_requested()) wait();
  }
}

void ChangeWatch::wait() {
  auto next = Clock::time_point::max();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, subject] : subjects_) next = std::min(next, subject.look_at);
  }
  std::vector<pollfd> entries{{wakeup_.get(), POLLIN, 0}};
  std::vector<Feed*> feeds{nullptr};
  for (auto& [session_id, feed] : feeds_) {
    if (feed.taken_at) {
      // Changes that come until then are told together with these.
      next = std::min(next, *feed.taken_at);
    } else {
      entries.push_back({feed.changes.fd(), POLLIN, 0});
      feeds.push_back(&feed);
    }
  }
  const auto now = Clock::now();
  int timeout_ms = wakeup_.valid() ? -1 : static_cast<int>(kRhythm.count());
  if (next != Clock::time_point::max()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  if (::poll(entries.data(), entries.size(), timeout_ms) <= 0) return;
  std::uint64_t count = 0;
  (void)!::read(wakeup_.get(), &count, sizeof count);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].revents != 0) feeds[i]->taken_at = Clock::now() + kSettling;
  }
}

std::vector<ChangeWatch::Key> ChangeWatch::take_heard() {
  std::vector<Key> heard;
  const auto now = Clock::now();
  for (auto& [session_id, feed] : feeds_) {
    if (!feed.taken_at || *feed.taken_at > now) continue;
    feed.taken_at.reset();
    const std::set<std::string> names = feed.changes.take();
    for (const Key& key : feed.keys) {
      if (names.contains(std::get<2>(key))) heard.push_back(key);
    }
  }
  return heard;
}

// Runs first, whose end somebody waits for; of each kind, one of each principal in turn.
std::vector<ChangeWatch::Key> ChangeWatch::take_due() {
  struct Due {
    Key key;
    Time look_at;
    std::size_t turn = 0;
  };
  std::vector<Due> due;
  {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    for (const auto& [key, subject] : subjects_) {
      if (subject.look_at <= now) due.push_back({key, subject.look_at});
    }
  }
  std::ranges::stable_sort(due, {}, &Due::look_at);
  std::map<std::pair<Kind, std::string>, std::size_t> turns;
  for (Due& one : due) one.turn = turns[{std::get<0>(one.key), std::get<1>(one.key)}]++;
  std::ranges::stable_sort(due, {}, [](const Due& one) {
    return std::pair(std::get<0>(one.key) != Kind::kTask, one.turn);
  });
  due.resize(std::min(due.size(), kLooksARound));
  std::vector<Key> keys;
  for (Due& one : due) keys.push_back(std::move(one.key));
  return keys;
}

void ChangeWatch::leave_removed() {
  std::vector<std::pair<Key, std::string>> removed;
  {
    const std::lock_guard lock(mutex_);
    removed = std::exchange(removed_, {});
    // Somebody wants it again: it begins anew.
    std::erase_if(removed, [this](const auto& one) {
      const auto known = subjects_.find(one.first);
      return known != subjects_.end() && known->second.session_id == one.second;
    });
  }
  for (const auto& [key, session_id] : removed) leave(key, session_id);
}

void ChangeWatch::leave(const Key& key, const std::string& session_id) {
  const auto feed = feeds_.find(session_id);
  if (feed == feeds_.end() || feed->second.keys.erase(key) == 0) return;
  feed->second.changes.forget(std::get<2>(key));
  if (feed->second.keys.empty()) feeds_.erase(feed);
}

ChangeWatch::Feed* ChangeWatch::feed_of(const std::string& session_id,
                                        const std::string& principal_id) {
  const auto known = feeds_.find(session_id);
  if (known != feeds_.end()) return &known->second;
  const auto own = std::count_if(feeds_.begin(), feeds_.end(), [&](const auto& one) {
    return one.second.principal_id == principal_id;
  });
  if (static_cast<std::size_t>(own) + feeds_.size() >= kFeedsMax) return nullptr;
  Feed& feed = feeds_[session_id];
  feed.principal_id = principal_id;
  if (feed.changes.valid()) return &feed;
  feeds_.erase(session_id);
  return nullptr;
}

void ChangeWatch::look(const Key& key, Glance& glance, bool told) {
  const auto& [kind, principal_id, name] = key;
  Seen seen;
  if (kind == Kind::kTask) {
    seen = see_run(key);
  } else if (const auto uri = parse_sandbox_uri(name)) {
    seen = see_file(key, *uri, glance);
  }
  std::string left;
  {
    const std::lock_guard lock(mutex_);
    const auto known = subjects_.find(key);
    if (known == subjects_.end()) {
      removed_.emplace_back(key, seen.session_id);
      return;
    }
    Subject& subject = known->second;
    subject.begun = true;
    subject.look_at = next_look(key, subject, seen);
    begun_.notify_all();
    if (subject.session_id != seen.session_id && !seen.session_id.empty()) {
      left = std::exchange(subject.session_id, seen.session_id);
    }
    if (seen.print.empty()) return;
    const std::string before = std::exchange(subject.print, seen.print);
    told = told || (!before.empty() && before != seen.print);
  }
  // Another session has the name of the former one.
  if (!left.empty()) leave(key, left);
  if (told) tell(key);
  if (!seen.progress.empty()) tell_progress(key, seen);
}

void ChangeWatch::tell(const Key& key) const {
  const auto& [kind, principal_id, name] = key;
  if (kind == Kind::kTask) {
    changes_.task_changed(principal_id, name);
  } else {
    changes_.resource_updated(principal_id, name);
  }
}

ChangeWatch::Seen ChangeWatch::see_run(const Key& key) const {
  Seen seen;
  const auto state =
      services_.runs.get(std::get<1>(key), std::get<2>(key), sessions::Reader::kNobody);
  if (!state.ok()) return seen;
  seen.print = sandbox::name_of(state.value().run.status);
  seen.ended = is_terminal(state.value().run.status);
  if (!seen.ended) seen.progress = newest_line(services_.run_files, state.value());
  return seen;
}

ChangeWatch::Time ChangeWatch::next_look(const Key& key, const Subject& subject, const Seen& seen) {
  const auto now = Clock::now();
  if (seen.ended) return now + kEndedRhythm;
  if (seen.heard) return now + kSlowRhythm;
  if (std::get<0>(key) != Kind::kTask) return now + kRhythm;
  // The end of a short one is news sooner.
  const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(now - subject.added_at);
  return now + std::clamp(part / 8, kTaskRhythmLeast, kRhythm);
}

// So that whoever waits for it sees it live.
void ChangeWatch::tell_progress(const Key& key, const Seen& seen) {
  double seconds = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto known = subjects_.find(key);
    const auto now = Clock::now();
    if (known == subjects_.end() || now - known->second.progress_at < kProgressEvery) return;
    known->second.progress_at = now;
    seconds = std::chrono::duration<double>(now - known->second.added_at).count();
  }
  changes_.task_progress(std::get<1>(key), std::get<2>(key), seconds, seen.progress);
}

ChangeWatch::Seen ChangeWatch::see_file(const Key& key, const SandboxUri& uri, Glance& glance) {
  const std::string& principal_id = std::get<1>(key);
  Seen seen;
  if (uri.authority == kSharedAuthority) {
    const auto share = services_.share_table.find(principal_id, shared_id_of(uri.path));
    seen.print = share.ok() ? "shared " + share.value().sha256 : kNothing;
    return seen;
  }
  const Glance::Place* place = glance.at(principal_id, uri.authority);
  if (place == nullptr) return seen;
  seen.session_id = place->session_id;
  // First: what changes after the look has been heard of.
  if (Feed* feed = feed_of(place->session_id, principal_id)) {
    feed->keys.insert(key);
    seen.heard = place->files.follow(std::get<2>(key), uri.path, feed->changes);
  }
  seen.print = print_of_file(place->files, uri.path);
  return seen;
}

}  // namespace tools
