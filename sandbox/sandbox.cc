#include "sandbox/sandbox.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>
#include <unordered_map>
#include <utility>

#include "sandbox/box_connection.h"
#include "sandbox/box_launch.h"
#include "sandbox/box_watch.h"
#include "sandbox/cgroup.h"
#include "sandbox/connected_box.h"
#include "sandbox/disk_quota.h"
#include "sandbox/host_capacity.h"
#include "sandbox/session_parts.h"
#include "sandbox/zygote.h"

namespace sandbox {

using base::Error;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kStartPatience{20'000};
constexpr milliseconds kWarmPatience{10'000};
constexpr milliseconds kWarmAgainPatience{1000};
constexpr int kWarmPauseMs = 50;
constexpr std::ptrdiff_t kStartsForProcessor = 4;
constexpr std::ptrdiff_t kStartsLeast = 8;
constexpr std::ptrdiff_t kStartsMost = 256;
// Between two attempts to start one where the machine is at a limit, and for all of them.
constexpr milliseconds kCapacityPause{100};
constexpr milliseconds kCapacityPauseMost{800};
constexpr milliseconds kCapacityPatience{3000};

class LinuxSandbox : public Sandbox {
 public:
  explicit LinuxSandbox(SandboxConfig config) : config_(std::move(config)) {
    zygote_of(config_.usual_environment).ensure();  // early: it takes a second to be of use
  }

  base::Result<std::shared_ptr<Box>> find(const std::string& session_id) override {
    std::shared_ptr<ConnectedBox> known;
    {
      const std::lock_guard lock(mutex_);
      if (const auto entry = boxes_.find(session_id); entry != boxes_.end()) known = entry->second;
    }
    // Connecting may take its time; the other sessions do not wait for it.
    if (known && known->usable()) return as_box(known);
    if (known && known->connect().ok()) {
      watch_.add(session_id, known->process());  // it may be another one by now
      return as_box(known);
    }
    auto box = std::make_shared<ConnectedBox>(directory_of(session_id), config_.detach_seconds,
                                              ConnectedBox::Attach::kYes);
    const auto connected = box->connect();
    const std::lock_guard lock(mutex_);
    if (!connected.ok()) {
      // Not one that somebody has found meanwhile.
      if (const auto entry = boxes_.find(session_id);
          entry != boxes_.end() && entry->second == known) {
        boxes_.erase(entry);
      }
      return connected.error();
    }
    boxes_[session_id] = box;
    watch_.add(session_id, box->process());
    return as_box(box);
  }

  base::Result<std::shared_ptr<Box>> look_at(const std::string& session_id) override {
    auto box = std::make_shared<ConnectedBox>(directory_of(session_id), config_.detach_seconds,
                                              ConnectedBox::Attach::kNo);
    TRY(box->connect());
    return as_box(box);
  }

  base::Result<BoxStatus> glance_at(const std::string& session_id, milliseconds patience) override {
    auto connection = TRY(BoxConnection::open(directory_of(session_id), config_.detach_seconds,
                                              BoxConnection::Attach::kNo, patience,
                                              BoxConnection::Silent::kLeave));
    return ask_status(connection, patience);
  }

  void wait_until_warm(const std::string& environment_directory,
                       const std::stop_token& stop) override {
    if (config_.zygote == SandboxConfig::Zygote::kOff) return;
    Zygote& zygote = zygote_of(environment_directory);
    zygote.ensure();
    const auto patience = waited_.exchange(true) ? kWarmAgainPatience : kWarmPatience;
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!stop.stop_requested() && std::chrono::steady_clock::now() < deadline &&
           !wait_for_zygote(zygote.directory(), std::chrono::seconds(0)).ok() &&
           zygote_lives(zygote.directory())) {
      (void)::poll(nullptr, 0, kWarmPauseMs);
    }
  }

  void tell_ends(std::function<void(const std::string& session_id)> ended) override {
    watch_.tell(std::move(ended));
  }

  void rest() override {
    const std::lock_guard lock(mutex_);
    const Zygote* last = nullptr;
    for (const auto& [_, zygote] : zygotes_) {
      if (last == nullptr || zygote->last_ensured() > last->last_ensured()) last = zygote.get();
    }
    const auto long_ago = std::chrono::steady_clock::now() - config_.zygote_rest;
    for (const auto& [_, zygote] : zygotes_) {
      if (zygote.get() != last && zygote->last_ensured() < long_ago) zygote->let_go();
    }
  }

  base::Result<std::shared_ptr<Box>> start(const BoxSpec& wanted,
                                           const SessionLock& lock) override {
    BoxSpec spec = wanted;
    spec.program_directory = config_.program_directory;
    spec.data_directory = config_.data_directory;
    spec.egress_directory = config_.egress_directory;
    spec.detach_seconds = config_.detach_seconds;
    if (config_.zygote != SandboxConfig::Zygote::kOff) {
      Zygote& zygote = zygote_of(spec.environment_directory);
      zygote.ensure();
      spec.zygote_directory = zygote.directory();
    }
    TRY(launch_in_turn(spec, lock));
    // It has just said that it is ready: only the connection can have broken.
    auto box = find(spec.session_id);
    return box.ok() ? std::move(box) : find(spec.session_id);
  }

  void let_go(const std::string& session_id) override {
    const std::lock_guard lock(mutex_);
    boxes_.erase(session_id);  // with the last call that is on, its connections close
  }

  void sweep(const std::string& session_id, const std::string& session_directory,
             const SessionLock&) override {
    const std::string socket = session_part(session_directory, kBoxSocketPart);
    (void)::unlink(socket.c_str());
    sweep_cgroup(session_directory);
    release_disk_quota(session_directory);
    let_go(session_id);
  }

  bool is_alive(const std::string& session_directory) override {
    return SessionLock::is_held(session_directory);
  }

 private:
  [[nodiscard]] std::string directory_of(const std::string& session_id) const {
    return config_.sessions_directory + "/" + session_id;
  }

  static base::Result<std::shared_ptr<Box>> as_box(const std::shared_ptr<ConnectedBox>& box) {
    return std::shared_ptr<Box>(box);
  }

  // As many at once as the processors can bring up: with more of them none would be ready in time.
  // A start that fails at a limit of the machine is tried again for a moment, while others may let
  // go.
  base::Status launch_in_turn(const BoxSpec& spec, const SessionLock& lock) {
    const auto deadline = std::chrono::steady_clock::now() + kCapacityPatience;
    for (milliseconds pause = kCapacityPause;; pause = std::min(2 * pause, kCapacityPauseMost)) {
      base::Status launched = launch_at_place(spec, lock);
      if (launched.ok() || launched.error().kind != Error::Kind::kCapacity) return launched;
      if (std::chrono::steady_clock::now() + pause > deadline) {
        return describe_capacity(launched.error());
      }
      sweep(spec.session_id, spec.session_directory, lock);  // all that it made before it failed
      (void)::poll(nullptr, 0, static_cast<int>(pause.count()));
    }
  }

  using Places = std::counting_semaphore<kStartsMost>;
  struct Releaser {
    explicit Releaser(Places& all) : places(all) {}
    ~Releaser() { places.release(); }
    Releaser(const Releaser&) = delete;
    Releaser& operator=(const Releaser&) = delete;
    Places& places;
  };

  base::Status launch_at_place(const BoxSpec& spec, const SessionLock& lock) {
    if (!places_.try_acquire_for(kStartPatience)) {
      return base::error(Error::Kind::kCapacity, "too many sandboxes are being started at once");
    }
    const Releaser place(places_);
    base::Status launched = launch_box(spec, lock, kStartPatience);
    return launched.ok() ? launched : as_capacity(std::move(launched).error());
  }

  // One for each environment that this server has used; they are few.
  Zygote& zygote_of(const std::string& environment_directory) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Zygote>& zygote = zygotes_[environment_directory];
    if (!zygote) zygote = std::make_unique<Zygote>(config_, environment_directory);
    return *zygote;
  }

  static std::ptrdiff_t places_of_machine() {
    const auto processors = static_cast<std::ptrdiff_t>(std::thread::hardware_concurrency());
    return std::clamp<std::ptrdiff_t>(kStartsForProcessor * processors, kStartsLeast, kStartsMost);
  }

  const SandboxConfig config_;
  Places places_{places_of_machine()};  // for starts
  std::atomic<bool> waited_ = false;
  std::mutex mutex_;  // guards the maps
  std::unordered_map<std::string, std::unique_ptr<Zygote>> zygotes_;
  std::unordered_map<std::string, std::shared_ptr<ConnectedBox>> boxes_;
  BoxWatch watch_;
};

}  // namespace

std::unique_ptr<Sandbox> make_sandbox(SandboxConfig config) {
  return std::make_unique<LinuxSandbox>(std::move(config));
}

}  // namespace sandbox
