#include "sandbox/journal_calls.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include "base/random_id.h"
#include "base/unix_socket.h"

namespace sandbox {

using base::Error;

namespace {

constexpr std::size_t kIdBytesMax = 256;
constexpr int kHeardAtOnce = 256;
constexpr std::chrono::milliseconds kCallPatience{10};  // with a server that is slow to hear

std::string place_of(const std::string& state_directory) { return state_directory + "/journals"; }

}  // namespace

base::Result<std::unique_ptr<JournalCalls>> JournalCalls::listen(const std::string& state_directory,
                                                                 const std::string& server_id,
                                                                 Take take) {
  const std::string place = place_of(state_directory);
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
    return Error::from_errno("make " + place);
  }
  const base::UniqueFd directory = TRY(base::open_file(AT_FDCWD, place, O_RDONLY | O_DIRECTORY));
  base::UniqueFd socket = TRY(base::listen_at(directory.get(), server_id, SOCK_DGRAM));
  TRY(base::set_nonblocking(socket.get()));
  base::UniqueFd stop(::eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return Error::from_errno("eventfd");
  return std::unique_ptr<JournalCalls>(new JournalCalls(place + "/" + server_id, std::move(socket),
                                                        std::move(stop), std::move(take)));
}

JournalCalls::JournalCalls(std::string path, base::UniqueFd socket, base::UniqueFd stop, Take take)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      stop_(std::move(stop)),
      take_(std::move(take)),
      thread_([this] { hear(); }) {}

JournalCalls::~JournalCalls() {
  (void)::unlink(path_.c_str());
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void JournalCalls::forget(const std::string& state_directory, const std::string& server_id) {
  (void)::unlink((place_of(state_directory) + "/" + server_id).c_str());
}

void JournalCalls::hear() {
  while (true) {
    pollfd entries[2] = {{socket_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (::poll(entries, 2, -1) < 0 && errno != EINTR) return;
    if (entries[1].revents != 0) return;
    // One that has called several times meanwhile is asked once.
    std::set<std::string> callers;
    for (int heard = 0; heard < kHeardAtOnce; ++heard) {
      char id[kIdBytesMax];
      const ssize_t size = ::recv(socket_.get(), id, sizeof id, 0);
      if (size <= 0) break;
      const std::string caller(id, static_cast<std::size_t>(size));
      if (base::is_short_id(caller, "session_")) callers.insert(caller);
    }
    for (const std::string& caller : callers) take_(caller);
  }
}

void call_for_journal(const std::string& state_directory, const std::string& session_id) {
  const auto directory =
      base::open_file(AT_FDCWD, place_of(state_directory), O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return;  // no server has ever been here
  for (const std::string& name : base::names_in(directory.value().get())) {
    const auto server = base::connect_to(directory.value().get(), name, kCallPatience, SOCK_DGRAM);
    if (server.ok()) {
      (void)::send(server.value().get(), session_id.data(), session_id.size(),
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    } else if (server.error().os_errno == ECONNREFUSED) {
      (void)::unlinkat(directory.value().get(), name.c_str(), 0);
    }
  }
}

}  // namespace sandbox
