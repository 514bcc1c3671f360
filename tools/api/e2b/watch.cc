// envd's watching of directories: as a stream, or by asking for what has happened.
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <nlohmann/json.hpp>

#include "mcp/worker_pool.h"
#include "sessions/boxes.h"
#include "sessions/sessions.h"
#include "tools/api/e2b/connect.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/e2b/entry.h"
#include "tools/api/e2b/tree_watch.h"
#include "tools/api/e2b/watchers.h"
#include "tools/session_files.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Route;
using nlohmann::json;
using sandbox::files::DirectoryEvent;

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

// Events as messages: those of a client that wants to know what each left there with its entry,
// unless that has gone again.
json events_view(const std::vector<DirectoryEvent>& events, const std::string& path,
                 const sandbox::files::BoxFiles* files) {
  json all = json::array();
  MetadataRoom room;
  for (const DirectoryEvent& event : events) {
    json one = {{"name", event.name}, {"type", type_of(event.kind)}};
    const bool has_gone =
        event.kind == DirectoryEvent::Kind::kRemove || event.kind == DirectoryEvent::Kind::kRename;
    if (files != nullptr && !has_gone) {
      auto entry = entry_at(*files, path + "/" + event.name, room);
      if (entry.ok()) one["entry"] = std::move(entry).value();
    }
    all.push_back(std::move(one));
  }
  return all;
}

// Nothing where nobody wants entries, and where no box lives: to ask what has happened starts none.
std::optional<sandbox::files::BoxFiles> files_for(const Services& services, const RpcCall& call,
                                                  bool wanted) {
  if (!wanted) return std::nullopt;
  auto root = services.boxes.look_at_root(call.session);
  if (!root.ok()) return std::nullopt;
  return files_in(std::move(root).value(), call.session);
}

base::Result<WatchedDirectory> begin(const Services& services, const RpcCall& call) {
  const json path = call.message.value("path", json());
  if (!path.is_string()) return base::error(Error::Kind::kInvalid, "path is missing");
  const auto is_set = [&call](const char* name) {
    return call.message.value(name, json(false)) == json(true);
  };
  const base::UniqueFd root = TRY(services.boxes.root_of(call.session));
  WatchedDirectory directory;
  directory.path = absolute_path(call.session, path.get<std::string>());
  directory.with_entries = is_set("includeEntry");
  directory.watch =
      TRY(TreeWatch::start(root.get(), directory.path,
                           is_set("recursive") ? TreeWatch::Depth::kAll : TreeWatch::Depth::kOne));
  return directory;
}

// Until something has happened (true), nothing has for long, or the wait is over.
base::Result<bool> wait_for_some(const TreeWatch& directory, int over_fd) {
  const mcp::WorkerPool::Aside aside;
  std::array<pollfd, 2> entries{pollfd{directory.fd(), POLLIN, 0}, pollfd{over_fd, POLLIN, 0}};
  while (::poll(entries.data(), entries.size(), kSilentMs) < 0) {
    if (errno != EINTR) return Error::from_errno("poll");
  }
  return (entries[0].revents & POLLIN) != 0;
}

base::Status stream(const Services& services, const RpcCall& call, const Send& send) {
  const WatchedDirectory directory = TRY(begin(services, call));
  const auto files = files_for(services, call, directory.with_entries);
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
    const bool is_silent = !TRY(wait_for_some(*directory.watch, over.get()));
    json events = json::array();
    if (!is_silent) {
      events = events_view(TRY(directory.watch->take()), directory.path, files ? &*files : nullptr);
    }
    // It may have ended, as its directories go then.
    if (is_silent || directory.watch->is_over()) {
      (void)TRY(services.sessions.find_live(call.session.principal_id, call.session.id));
    }
    if (is_silent) is_wanted = send({{"keepalive", json::object()}});
    for (json& event : events) {
      is_wanted = is_wanted && send({{"filesystem", std::move(event)}});
    }
  }
  return base::done();
}

std::string id_in(const RpcCall& call) {
  const json id = call.message.value("watcherId", json());
  return id.is_string() ? id.get<std::string>() : "";
}

base::Result<json> create_watcher(const Services& services, Watchers& watchers,
                                  const RpcCall& call) {
  auto directory = TRY(begin(services, call));
  const std::string id = TRY(watchers.add(call.session, std::move(directory)));
  return json{{"watcherId", id}};
}

base::Result<json> events(const Services& services, Watchers& watchers, const RpcCall& call) {
  const Watchers::Taken taken = TRY(watchers.take(call.session.id, id_in(call)));
  const auto files = files_for(services, call, taken.with_entries);
  return json{{"events", events_view(taken.events, taken.path, files ? &*files : nullptr)}};
}

base::Result<json> remove_watcher(const Services& /*services*/, Watchers& watchers,
                                  const RpcCall& call) {
  TRY(watchers.remove(call.session.id, id_in(call)));
  return json::object();
}

}  // namespace

std::vector<Route> watch_routes(const Services& services) {
  const auto watchers = std::make_shared<Watchers>();
  const auto with = [&services, watchers](auto function) {
    return [&services, watchers, function](const RpcCall& call) {
      return function(services, *watchers, call);
    };
  };
  return {server_stream(services, "/filesystem.Filesystem/WatchDir",
                        [&services](const RpcCall& call, const Send& send) {
                          return stream(services, call, send);
                        }),
          unary(services, "/filesystem.Filesystem/CreateWatcher", with(create_watcher)),
          unary(services, "/filesystem.Filesystem/GetWatcherEvents", with(events)),
          unary(services, "/filesystem.Filesystem/RemoveWatcher", with(remove_watcher))};
}

}  // namespace tools::api::e2b
