// Keys under which all servers of this database seal what travels through clients. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sessions {

struct StoreFile;

// A key seals for a day, and opens what it has sealed for a day more.
inline constexpr std::int64_t kSealingKeyMs = 86'400'000;
inline constexpr std::int64_t kSealingKeyKeptMs = 86'400'000;

class SealingKeyTable {
 public:
  explicit SealingKeyTable(StoreFile& file) : file_(file) {}

  // Returns 64 hexadecimal digits each, the one to seal with first, made when there is none young
  // enough.
  base::Result<std::vector<std::string>> newest(std::int64_t now);

 private:
  // Returns none when a new one is due.
  base::Result<std::vector<std::string>> find_newest(std::int64_t now);

  StoreFile& file_;
};

}  // namespace sessions
