// All services of this layer, put together: each is made of those above it.
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
#include "sessions/sweeper.h"

namespace sessions {

struct ServiceParts {
  ServiceParts(ManagerConfig config, Store& store, sandbox::Sandbox& sandbox)
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
  StateShares shares{ground};
  BoxSpecs specs{ground, networks, shares};
  FileOwners owners{ground};
  Restarts restarts{ground, ledger};
  SessionEnds ends{ground, {ledger, journals, connections, grants}};
  SessionStates states{ground, ended};
  SessionRoom room{ground, ends, states};
  Boxes boxes{ground, {ledger, journals, ends, room, grants, owners, specs, restarts}};
  Runs runs{ground, ledger, boxes};
  SparePool spares{ground, boxes, specs, ends};
  Sessions sessions{ground, {boxes, specs, states, ends, room, spares, connections}};
  Sweeper sweeper{ground, {ledger, journals, ends, spares, ended, shares}};
  std::unique_ptr<sandbox::JournalCalls> journal_calls;
};

}  // namespace sessions
