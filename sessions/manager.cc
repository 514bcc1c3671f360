#include "sessions/manager.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "sessions/service_parts.h"
#include "sessions/session_directory.h"

namespace sessions {

Manager::Manager(std::unique_ptr<ServiceParts> parts) : parts_(std::move(parts)) {}

base::Result<std::unique_ptr<Manager>> Manager::open(ManagerConfig config, Store& store,
                                                     sandbox::Sandbox& sandbox) {
  std::unique_ptr<Manager> manager(
      new Manager(std::make_unique<ServiceParts>(std::move(config), store, sandbox)));
  TRY(manager->start());
  return manager;
}

base::Status Manager::start() {
  ServiceParts& parts = *parts_;
  const std::string path = sessions_directory(parts.ground.config.state_directory);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::Error::from_errno("make " + path);
  TRY(parts.ground.servers.open());
  TRY(parts.owners.renew());
  TRY(parts.spares.start());
  parts.journal_calls = TRY(sandbox::JournalCalls::listen(
      parts.ground.config.state_directory, parts.ground.servers.own_id(),
      [&parts](const std::string& session_id) {
        (void)parts.journals.take(session_id);  // a failure is asked for again
      }));
  parts.sweeper.start();
  parts.ground.sandbox.tell_ends([&parts](const std::string& id) { parts.ended.add(id); });
  return base::done();
}

Manager::~Manager() {
  parts_->journal_calls.reset();
  parts_->ground.sandbox.tell_ends({});
  parts_->spares.stop();
  parts_->sweeper.stop();
}

Services Manager::services() {
  ServiceParts& parts = *parts_;
  return {.config = parts.ground.config,
          .quotas = parts.ground.quotas,
          .session_table = parts.store.sessions,
          .session_lists = parts.store.session_lists,
          .run_table = parts.store.runs,
          .file_table = parts.store.files,
          .share_table = parts.store.shares,
          .sealing_keys = parts.store.sealing_keys,
          .sessions = parts.sessions,
          .states = parts.states,
          .boxes = parts.boxes,
          .runs = parts.runs,
          .connections = parts.connections,
          .networks = parts.networks,
          .network_changes = parts.network_changes,
          .journals = parts.journals,
          .tokens = parts.tokens,
          .kept_calls = parts.kept_calls,
          .run_files = parts.run_files};
}

void Manager::sweep(const std::stop_token& stop) { parts_->sweeper.sweep(stop); }

base::Result<ServiceStop::Report> Manager::end_boxes_of_service(std::chrono::seconds patience) {
  parts_->spares.stop();
  parts_->sweeper.stop();
  return ServiceStop(parts_->ground, parts_->store.session_lists).end_boxes(patience);
}

}  // namespace sessions
