// Versions of the schema, in PRAGMA user_version.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sessions {

class Database;

// Hears of each step before it is taken, but not of making a database from nothing: its number of
// so many.
using MigrationProgress = std::function<void(std::size_t step, std::size_t steps)>;

// Script number n takes a database from version n to n + 1; the first makes it from nothing.
std::span<const std::string_view> migrations();

// Brings the database of the file `path` to the newest version, while no other process has it open:
// those of an older hutch would go on with a schema that they do not know. What comes back says to
// others that it is open here, for as long as it is held. kConflict when such processes do not end.
base::Result<base::UniqueFd> migrate_alone(Database& database, const std::string& path,
                                           std::span<const std::string_view> scripts,
                                           std::chrono::milliseconds patience,
                                           const MigrationProgress& progress = {});

// Brings the database to the newest version, each step in a transaction of its own. Of several
// servers that start at once one does the work. kUnsupported when it was made by a newer hutch.
base::Status migrate(Database& database, std::span<const std::string_view> scripts,
                     const MigrationProgress& progress = {});

}  // namespace sessions
