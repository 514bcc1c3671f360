#include "sessions/box_specs.h"

#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "sandbox/environment.h"
#include "sessions/filesystem_choice.h"
#include "sessions/ground.h"
#include "sessions/run_table.h"
#include "sessions/session.h"
#include "sessions/session_directory.h"
#include "sessions/session_networks.h"
#include "sessions/session_time.h"
#include "sessions/state_shares.h"

namespace sessions {

namespace {

// Spares start the languages that were used so lately, and Python in any case.
constexpr std::int64_t kLanguageUseMs = 3'600'000;
// The box sees to it (StateShares::tell()).
constexpr const char* kNoRoomForState =
    "no more variables are stored than were, and 3 MB beside: what your sessions have stored takes "
    "a tenth of the disk "
    "(delete_session, or hutch sessions forget-state, makes room)";

}  // namespace

base::Result<std::string> BoxSpecs::environment_of(const Session& session) const {
  if (session.template_name == sandbox::kHostTemplate) return std::string();
  return sandbox::find_environment(ground_.config.environments_directory, session.template_name);
}

base::Result<sandbox::BoxSpec> BoxSpecs::spec_of(const Session& session) const {
  sandbox::BoxSpec spec;
  spec.session_id = session.id;
  spec.session_directory = ground_.files_of(session.id).path();
  spec.environment_directory = TRY(environment_of(session));
  spec.limits = session.limits;
  spec.env = session.env;
  if (session.principal_id == kSparePrincipal) spec.ahead = TRY(languages_ahead());
  if (session.host_uid) spec.host_uid = static_cast<std::uint32_t>(*session.host_uid);
  spec.idle_seconds = session.idle_seconds;
  spec.paused_max_seconds = ground_.config.paused_max_seconds;
  spec.ends_with_connection =
      session.ends_with_connection && ground_.config.connections_end_with_server;
  FoldersNow folders = granted_now(session.host_folders, ground_.config.folders);
  spec.host_folders = std::move(folders.folders);
  spec.note = std::move(folders.note);
  spec.autosave_mb = ground_.config.autosave_mb;
  if (spec.autosave_mb > 0) spec.stored_mb = spec.limits.memory_mb;
  if (spec.autosave_mb > 0 && !shares_.tell(session)) {
    base::append_part(spec.note, kNoRoomForState, "; ");
  }
  spec.paths = session.paths;
  SessionNetworks::Network network = TRY(networks_.network_of(session));
  TRY(networks_.add(std::move(network), session, spec));
  if (ground_.config.own_ids) {
    // The one that host_uids_of() leaves.
    spec.egress_uid =
        static_cast<std::uint32_t>(ground_.config.own_ids->first + ground_.config.own_ids->count);
  }
  spec.ends_in_ms = lifetime_left_ms(session, moment_now());
  spec.pauses_at_end = session.pauses_at_end;
  if (spec.pauses_at_end && spec.ends_in_ms && *spec.ends_in_ms <= 0) spec.ends_in_ms.reset();
  return spec;
}

base::Result<std::vector<sandbox::Language>> BoxSpecs::languages_ahead() const {
  std::vector<sandbox::Language> ahead = {sandbox::Language::kPython};
  for (const std::string& name : TRY(runs_.recent_languages(base::now_ms() - kLanguageUseMs))) {
    const auto language = sandbox::find_language(name);
    if (language && *language != sandbox::Language::kPython) ahead.push_back(*language);
  }
  return ahead;
}

}  // namespace sessions
