// Versions of the schema, in PRAGMA user_version.
#pragma once

#include <span>
#include <string_view>

#include "sandbox/base/result.h"
#include "sessions/sqlite.h"

namespace sessions {

// Script number n takes a database from version n to n + 1; the first makes it from nothing.
std::span<const std::string_view> migrations();

// Brings the database to the newest version, each step in a transaction of its own. Of several
// servers that start at once one does the work. kUnsupported when it was made by a newer hutch.
base::Status migrate(Database& database, std::span<const std::string_view> scripts);

}  // namespace sessions
