// Sessions that are made ahead of need. They are the spare principal's, whom nobody can be, until
// one becomes that of whoever asks. Safe from any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "sessions/session.h"
#include "sessions/session_table.h"

namespace sessions {

struct StoreFile;

class SpareTable {
 public:
  explicit SpareTable(StoreFile& file) : file_(file) {}

  base::Status ensure_principal();
  // Gives it the name, principal and times of `wanted`; it keeps its own id. Errors as of
  // SessionTable::create(), and kNotFound when it is not to be had any more.
  base::Result<Session> adopt(const std::string& spare_id, const Session& wanted,
                              const SessionBounds& bounds);
  // Destroys it, unless somebody has it already: then false.
  base::Result<bool> withdraw(const std::string& spare_id, const std::string& why);
  // Forgets a withdrawn one, in place of PastTable::set_buried(): it had no runs, and every server
  // makes some.
  base::Status forget(const std::string& id);

 private:
  StoreFile& file_;
};

}  // namespace sessions
