// envd's watching of directories: as a stream, or by asking for what has happened.
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/worker_pool.h"
#include "sandbox/files/directory_watch.h"
#include "tools/rest/e2b/connect.h"
#include "tools/rest/e2b/e2b.h"
#include "tools/rest/e2b/watchers.h"

namespace tools::rest::e2b {

using base::Error;
using mcp::http::Route;
using nlohmann::json;
using sandbox::files::DirectoryEvent;
using sandbox::files::DirectoryWatch;

namespace watch {
namespace {

constexpr int kSilentMs = 20'000;

const char* type_of(DirectoryEvent::Kind kind) {
  switch (kind) {
    case DirectoryEvent::Kind::kCreate:
      return "EVENT_TYPE_CREATE";
    case DirectoryEvent::Kind::kWrite:
      return "EVENT_TYPE_WRITE";
    case DirectoryEvent::Kind::kRemove:
      return "EVENT_TYPE_REMOVE";
    case DirectoryEvent::Kind::kRename:
      return "EVENT_TYPE_RENAME";
    case DirectoryEvent::Kind::kChmod:
      return "EVENT_TYPE_CHMOD";
  }
  return "EVENT_TYPE_UNSPECIFIED";
}

json shown(const DirectoryEvent& event) {
  return {{"name", event.name}, {"type", type_of(event.kind)}};
}

base::Result<std::unique_ptr<DirectoryWatch>> begin(const Services& services, const RpcCall& call) {
  const json path = call.message.value("path", json());
  if (!path.is_string()) return base::error(Error::Kind::kInvalid, "path is missing");
  const bool all = call.message.value("recursive", json(false)) == json(true);
  const base::UniqueFd root = TRY(services.sessions.root_of(call.session));
  return DirectoryWatch::start(root.get(), path.get<std::string>(),
                               all ? DirectoryWatch::Depth::kAll : DirectoryWatch::Depth::kOne);
}

// Until something has happened (true), nothing has for long, or the wait is over.
base::Result<bool> wait_for_some(const DirectoryWatch& directory, int over_fd) {
  const mcp::WorkerPool::Aside aside;
  std::array<pollfd, 2> entries{pollfd{directory.fd(), POLLIN, 0}, pollfd{over_fd, POLLIN, 0}};
  while (::poll(entries.data(), entries.size(), kSilentMs) < 0) {
    if (errno != EINTR) return Error::from_errno("poll");
  }
  return (entries[0].revents & POLLIN) != 0;
}

base::Status stream(const Services& services, const RpcCall& call, const Send& send) {
  const auto directory = TRY(begin(services, call));
  const base::UniqueFd over(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!over.valid()) return Error::from_errno("eventfd");
  const auto end = [&over] {
    const std::uint64_t one = 1;
    (void)!::write(over.get(), &one, sizeof one);
  };
  const std::stop_callback on_gone(call.gone, end);
  const std::stop_callback on_drain(services.draining, end);
  bool is_wanted = send({{"start", json::object()}});
  while (is_wanted && !call.gone.stop_requested() && !services.draining.stop_requested()) {
    if (!TRY(wait_for_some(*directory, over.get()))) {
      (void)TRY(session_of(services, call.request));  // it may have ended meanwhile
      is_wanted = send({{"keepalive", json::object()}});
      continue;
    }
    for (const DirectoryEvent& event : TRY(directory->take())) {
      is_wanted = is_wanted && send({{"filesystem", shown(event)}});
    }
  }
  return base::done();
}

std::string id_in(const RpcCall& call) {
  const json id = call.message.value("watcherId", json());
  return id.is_string() ? id.get<std::string>() : "";
}

base::Result<json> create(const Services& services, Watchers& watchers, const RpcCall& call) {
  auto directory = TRY(begin(services, call));
  const std::string id = TRY(watchers.add(call.session, std::move(directory)));
  return json{{"watcherId", id}};
}

base::Result<json> events(const Services& /*services*/, Watchers& watchers, const RpcCall& call) {
  json happened = json::array();
  for (const DirectoryEvent& event : TRY(watchers.take(call.session.id, id_in(call)))) {
    happened.push_back(shown(event));
  }
  return json{{"events", std::move(happened)}};
}

base::Result<json> remove(const Services& /*services*/, Watchers& watchers, const RpcCall& call) {
  TRY(watchers.remove(call.session.id, id_in(call)));
  return json::object();
}

}  // namespace
}  // namespace watch

std::vector<Route> watch_routes(const Services& services) {
  const auto watchers = std::make_shared<Watchers>();
  const auto with = [&services, watchers](auto function) {
    return [&services, watchers, function](const RpcCall& call) {
      return function(services, *watchers, call);
    };
  };
  return {server_stream(services, "/filesystem.Filesystem/WatchDir",
                        [&services](const RpcCall& call, const Send& send) {
                          return watch::stream(services, call, send);
                        }),
          unary(services, "/filesystem.Filesystem/CreateWatcher", with(watch::create)),
          unary(services, "/filesystem.Filesystem/GetWatcherEvents", with(watch::events)),
          unary(services, "/filesystem.Filesystem/RemoveWatcher", with(watch::remove))};
}

}  // namespace tools::rest::e2b
