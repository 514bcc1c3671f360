// Keeps what sweeps leave to the next one, see deletion_hold.h. Safe from any thread.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "sessions/deletion_hold.h"

namespace sessions {

struct StoreFile;

class UpkeepTable {
 public:
  explicit UpkeepTable(StoreFile& file) : file_(file) {}

  base::Result<Upkeep> find();
  // Decides what a sweep may do, see decide(), and writes it down for the next one. What cannot be
  // written down holds all the same.
  base::Result<HoldDecision> begin_sweep(const Moment& now, std::int64_t served_since_ms,
                                         const Due& due, std::int64_t retention_seconds);
  // The sweep has deleted all that was over its time: what released that has been used up.
  base::Status end_sweep();
  // Lets deletion go on at once. False when it was not held back.
  base::Result<bool> release_deletion();
  // Returns whether what is over its time may be deleted between two sweeps; no when in doubt.
  bool may_delete_by_time(std::int64_t now_ms);

 private:
  // Callers hold the mutex.
  base::Result<Upkeep> read();
  base::Status write(const Upkeep& upkeep);

  StoreFile& file_;
};

}  // namespace sessions
