// All services of this layer, put together: each is made of those above it, and of the tables that
// it uses.
#pragma once

#include <memory>
#include <utility>

#include "sandbox/journal_calls.h"
#include "sessions/box_grants.h"
#include "sessions/box_specs.h"
#include "sessions/boxes.h"
#include "sessions/connection_sessions.h"
#include "sessions/ended_boxes.h"
#include "sessions/file_owners.h"
#include "sessions/ground.h"
#include "sessions/kept_calls.h"
#include "sessions/network_changes.h"
#include "sessions/network_journals.h"
#include "sessions/restarts.h"
#include "sessions/run_files.h"
#include "sessions/run_ledger.h"
#include "sessions/runs.h"
#include "sessions/session_ends.h"
#include "sessions/session_networks.h"
#include "sessions/session_room.h"
#include "sessions/session_states.h"
#include "sessions/session_tokens.h"
#include "sessions/sessions.h"
#include "sessions/spare_pool.h"
#include "sessions/state_shares.h"
#include "sessions/store.h"
#include "sessions/sweeper.h"

namespace sessions {

struct ServiceParts {
  ServiceParts(ManagerConfig config, Store& database, sandbox::Sandbox& sandbox)
      : store(database), ground(std::move(config), sandbox) {}

  Store& store;
  Ground ground;
  SessionTokens tokens{ground.config.state_directory, store.sessions, store.session_lists};
  KeptCalls kept_calls{ground.config.state_directory};
  RunFiles run_files{ground.config.state_directory};
  ConnectionSessions connections;
  NetworkJournals journals{ground.config.state_directory, store.network, store.session_lists};
  SessionNetworks networks{ground.config.network, ground.config.state_directory, store.network,
                           store.credentials};
  NetworkChanges network_changes{ground, store.sessions, store.network, store.audit, networks};
  EndedBoxes ended;
  RunLedger ledger{ground, store.runs, store.sessions};
  BoxGrants grants{ground, networks};
  StateShares shares{ground, store.session_lists};
  BoxSpecs specs{ground, store.runs, networks, shares};
  FileOwners owners{ground, store.sessions, store.audit};
  Restarts restarts{ground, store.runs, ledger};
  SessionEnds ends{ground,
                   {store.sessions, store.spares, store.upkeep, store.past, ledger, journals,
                    connections, grants}};
  SessionStates states{ground, store.session_lists, ended};
  SessionRoom room{ground, store.sessions, store.session_lists, ends, states};
  Boxes boxes{ground,
              {store.sessions, ledger, journals, ends, room, grants, owners, specs, restarts}};
  Runs runs{ground, store.runs, ledger, boxes};
  SparePool spares{ground, store.sessions, store.spares, boxes, specs, ends};
  Sessions sessions{ground,
                    {store.sessions, boxes, specs, states, ends, room, spares, connections}};
  Sweeper sweeper{ground,
                  {store.sessions, store.session_lists, store.upkeep, store.past, ledger, journals,
                   ends, spares, ended, shares}};
  std::unique_ptr<sandbox::JournalCalls> journal_calls;
};

}  // namespace sessions
