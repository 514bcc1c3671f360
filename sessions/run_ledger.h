// The books of runs: every run that was accepted gets one end, whoever finds it out. A box records
// a run before anybody hears of its end, so that after any crash the row, the record and the box
// together say what became of it. Safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "sandbox/run.h"
#include "sessions/run_state.h"
#include "sessions/run_table.h"

namespace sessions {

class SessionTable;
struct Ground;
struct Run;

class RunLedger {
 public:
  RunLedger(const Ground& ground, RunTable& runs, SessionTable& sessions)
      : ground_(ground), runs_(runs), sessions_(sessions) {}

  // kUs says that its session's lock is held, so that no box of it lives.
  enum class Owner { kUnknown, kUs };
  // Returns the run as it is, which is its end where it has one.
  base::Result<sandbox::Run> settle(const Run& row, Owner owner = Owner::kUnknown,
                                    Reader reader = Reader::kNobody);
  // Settles all runs of a session that have no end. One that cannot be settled now is tried again
  // by whoever asks for it; fails where they cannot be listed.
  base::Status settle_all(const std::string& session_id, Owner owner);
  // Writes the end of a run down; returns the one that was first.
  base::Result<sandbox::Run> commit(const Run& row, sandbox::Run run, Reader reader);
  // Writes down that the run was not accepted, for this reason.
  base::Status refuse(const Run& row, const std::string& why);
  // Returns whether a box has begun to keep files of it.
  [[nodiscard]] bool was_accepted(const Run& row) const;

 private:
  // Returns nothing when there is none that can be read.
  [[nodiscard]] std::optional<sandbox::Run> read_record(const Run& row) const;
  [[nodiscard]] sandbox::Run lost(const Run& row) const;
  // Returns whether the next box of its session has variables that were stored.
  [[nodiscard]] bool comes_back(const Run& row) const;
  [[nodiscard]] EndRead read_by(Reader reader, const Run& row) const;
  // Returns whether its session was deleted, or ended when its time was over.
  [[nodiscard]] bool was_ended(const Run& row) const;
  [[nodiscard]] sandbox::Run ended_by_deletion(const Run& row) const;

  const Ground& ground_;
  RunTable& runs_;
  SessionTable& sessions_;
};

}  // namespace sessions
