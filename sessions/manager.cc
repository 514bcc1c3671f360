#include "sessions/manager.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "sandbox/journal_calls.h"
#include "sessions/boxes.h"
#include "sessions/connection_sessions.h"
#include "sessions/ended_boxes.h"
#include "sessions/ground.h"
#include "sessions/kept_calls.h"
#include "sessions/network_changes.h"
#include "sessions/network_journals.h"
#include "sessions/run_files.h"
#include "sessions/run_ledger.h"
#include "sessions/runs.h"
#include "sessions/session_networks.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "sessions/spare_pool.h"
#include "sessions/sweeper.h"

namespace sessions {

// Each is made of those above it.
struct Manager::Parts {
  Parts(ManagerConfig config, Store& store, sandbox::Sandbox& sandbox)
      : ground(std::move(config), store, sandbox) {}

  Ground ground;
  SessionTokens tokens{ground.config.state_directory, ground.store};
  KeptCalls kept_calls{ground.config.state_directory};
  RunFiles run_files{ground.config.state_directory};
  ConnectionSessions connections;
  NetworkJournals journals{ground.config.state_directory, ground.store};
  SessionNetworks networks{ground.config.network, ground.config.state_directory, ground.store};
  NetworkChanges network_changes{ground, networks};
  EndedBoxes ended;
  RunLedger ledger{ground};
  BoxGrants grants{ground, networks};
  BoxSpecs specs{ground, networks};
  FileOwners owners{ground};
  SessionEnds ends{ground, {ledger, journals, connections, grants}};
  SessionStates states{ground, ended};
  SessionRoom room{ground, ends, states};
  Boxes boxes{ground, {ledger, journals, ends, room, grants, owners, specs}};
  Runs runs{ground, ledger, boxes};
  SparePool spares{ground, boxes, specs, ends};
  Sessions sessions{ground, {boxes, specs, states, ends, room, spares, connections}};
  Sweeper sweeper{ground, {ledger, journals, ends, spares, ended}};
  std::unique_ptr<sandbox::JournalCalls> journal_calls;
};

Manager::Manager(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

base::Result<std::unique_ptr<Manager>> Manager::open(ManagerConfig config, Store& store,
                                                     sandbox::Sandbox& sandbox) {
  std::unique_ptr<Manager> manager(
      new Manager(std::make_unique<Parts>(std::move(config), store, sandbox)));
  TRY(manager->start());
  return manager;
}

base::Status Manager::start() {
  Parts& parts = *parts_;
  const std::string path = parts.ground.config.state_directory + "/sessions";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::Error::from_errno("make " + path);
  TRY(parts.ground.servers.open());
  TRY(parts.owners.renew());
  TRY(parts.spares.start());
  parts.journal_calls = TRY(sandbox::JournalCalls::listen(
      parts.ground.config.state_directory, parts.ground.servers.own_id(),
      [&parts](const std::string& session_id) {
        (void)parts.journals.take(session_id);  // what fails is asked for again
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
  Parts& parts = *parts_;
  return {.config = parts.ground.config,
          .quotas = parts.ground.quotas,
          .store = parts.ground.store,
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

}  // namespace sessions
