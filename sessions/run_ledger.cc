#include "sessions/run_ledger.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "sessions/file_table.h"
#include "sessions/ground.h"
#include "sessions/run_record.h"
#include "sessions/run_table.h"
#include "sessions/session_directory.h"
#include "sessions/session_table.h"

namespace sessions {

using base::Error;

namespace {

// How long a server may take between the row of a run and the box having it.
constexpr std::int64_t kHandOverMs = 60'000;

constexpr const char* kAllLost = "variables and processes lost";
constexpr const char* kLostSinceStored =
    "processes lost; the session wakes with the variables that were last stored, after a run "
    "before this one";

}  // namespace

base::Result<sandbox::Run> RunLedger::settle(const Run& row, Owner owner, Reader reader) {
  if (row.has_ended()) {
    // The end may have been deleted for its age since the row was read.
    auto end = TRY(runs_.end_of(row.id));
    // On a full disk it stays unread, which is the safe side.
    if (reader != Reader::kNobody && !row.was_read) (void)runs_.set_read(row.id);
    if (!end) return run_of(row);
    return std::move(*end);
  }
  const bool alive = owner == Owner::kUnknown && ground_.is_owned(row.session_id);
  if (auto record = read_record(row)) return commit(row, std::move(*record), reader);
  if (alive) {
    const auto box = ground_.sandbox.find(row.session_id);
    if (!box.ok()) return run_of(row);  // it holds its lock, but is silent
    auto asked = box.value()->wait(row.id, {}, {});
    if (asked.ok() && is_terminal(asked.value().status)) {
      return commit(row, std::move(asked).value(), reader);
    }
    if (asked.ok()) return asked;
    // Only "never heard of it" is an answer. Anything else leaves the question open.
    if (asked.error().kind != Error::Kind::kNotFound) return run_of(row);
    // A box before this one may have had it, and may have recorded it just now.
    if (auto record = read_record(row)) return commit(row, std::move(*record), reader);
  }
  const bool being_handed_over = row.status == "queued" &&
                                 ground_.servers.is_alive(row.server_id) &&
                                 base::now_ms() - row.queued_at < kHandOverMs;
  if (being_handed_over) return run_of(row);
  if (was_ended(row)) return commit(row, ended_by_deletion(row), reader);
  ground_.config.notify(
      {Notice::Level::kFailure, "a sandbox ended before its run did", "", row.session_id, row.id});
  return commit(row, lost(row), reader);
}

base::Status RunLedger::settle_all(const std::string& session_id, Owner owner) {
  for (const Run& row : TRY(runs_.unfinished(session_id))) (void)settle(row, owner);
  return base::done();
}

base::Status RunLedger::refuse(const Run& row, const std::string& why) {
  sandbox::Run refused = run_of(row);
  refused.status = sandbox::RunStatus::kFailed;
  refused.finished_at_ms = base::now_ms();
  refused.error =
      sandbox::RunError{"Refused", why, "", sandbox::Cause::kSandboxLost, "files kept", ""};
  if (was_ended(row)) refused = ended_by_deletion(row);
  TRY(commit(row, std::move(refused), Reader::kClient));
  return base::done();
}

bool RunLedger::was_ended(const Run& row) const {
  const auto live = sessions_.is_live(row.session_id);
  return live.ok() && !live.value();
}

sandbox::Run RunLedger::ended_by_deletion(const Run& row) const {
  sandbox::Run run = lost(row);
  run.status = sandbox::RunStatus::kCancelled;
  run.error = sandbox::RunError{"Cancelled", "the session was ended before this run had",
                                "",          sandbox::Cause::kCancelled,
                                "",          "files, variables and processes of the session"};
  return run;
}

bool RunLedger::comes_back(const Run& row) const {
  if (ground_.config.autosave_mb == 0) return false;
  const SessionDirectory files = ground_.files_of(row.session_id);
  return files.stores_variables() || files.stores_shell();
}

sandbox::Run RunLedger::lost(const Run& row) const {
  sandbox::Run run = run_of(row);
  run.status = sandbox::RunStatus::kFailed;
  run.finished_at_ms = base::now_ms();
  run.error = sandbox::RunError{"SandboxLost",
                                "the sandbox ended before this run did",
                                "",
                                sandbox::Cause::kSandboxLost,
                                "files kept, output so far kept",
                                comes_back(row) ? kLostSinceStored : kAllLost};
  for (auto [name, bytes] :
       {std::pair{"stdout", &run.stdout_bytes}, {"stderr", &run.stderr_bytes}}) {
    struct stat status {};
    const std::string path = ground_.files_of(row.session_id).run(row.id) + "/" + name;
    if (::lstat(path.c_str(), &status) == 0) *bytes = status.st_size;
  }
  return run;
}

bool RunLedger::was_accepted(const Run& row) const {
  struct stat status {};
  const std::string path = ground_.files_of(row.session_id).run(row.id);
  return ::lstat(path.c_str(), &status) == 0;
}

std::optional<sandbox::Run> RunLedger::read_record(const Run& row) const {
  const std::string path = ground_.files_of(row.session_id).record(row.id);
  const auto file = base::open_file(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) return std::nullopt;
  // A record that a power cut left empty is as good as none.
  const auto text = base::read_all(file.value().get(), sandbox::kRecordBytesMax);
  if (!text.ok()) return std::nullopt;
  const auto value = base::parse_json(text.value());
  if (!value.ok()) return std::nullopt;
  auto run = sandbox::run_from_json(value.value());
  if (!run.ok() || run.value().run_id != row.id) return std::nullopt;
  return std::move(run).value();
}

// A background run, and one that another server has begun, outlives the conversation that it is of.
EndRead RunLedger::read_by(Reader reader, const Run& row) const {
  if (reader == Reader::kNobody) return EndRead::kNot;
  const bool is_later =
      reader == Reader::kLater || row.background || row.server_id != ground_.servers.own_id();
  return is_later ? EndRead::kLater : EndRead::kAsItEnds;
}

base::Result<sandbox::Run> RunLedger::commit(const Run& row, sandbox::Run run, Reader reader) {
  const EndRead read = read_by(reader, row);
  run.trace.mark(sandbox::Hop::kSeen);
  std::vector<FileRecord> files;
  for (const sandbox::FileChange& change : run.files_changed) {
    files.push_back({row.session_id, row.id, change.path, change.change, change.bytes, std::nullopt,
                     run.finished_at_ms});
  }
  const auto first = runs_.finish(row.id, run, files, read);
  // A full disk: the row stays open and is settled later, from its box or its record.json.
  if (!first.ok() && first.error().kind == Error::Kind::kLimit) return run;
  if (TRY(first)) return run;
  // Somebody else knew before us: what is said of a run does not depend on who is asked.
  if (read != EndRead::kNot) (void)runs_.set_read(row.id, read);
  auto earlier = TRY(runs_.end_of(row.id));
  if (!earlier) return run;
  return std::move(*earlier);
}

}  // namespace sessions
