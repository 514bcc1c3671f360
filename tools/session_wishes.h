// Clients' words for how a new session is to be: JSON of arguments and bodies, as sessions take it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "sessions/filesystem_choice.h"
#include "sessions/network_choice.h"

namespace tools {

// Reads an object with allow, block_outbound, credentials and deny_addresses, or null. Fails with
// kInvalid, naming what is wrong with which member.
base::Result<sessions::NetworkWish> network_wish(const nlohmann::json& value);

// Reads an object with read_only, read_write and blocked, or null. Fails as network_wish() does.
base::Result<sessions::FilesystemWish> filesystem_wish(const nlohmann::json& value);

}  // namespace tools
