// The shape of a rich result: what interpreters send, boxes reply and clients see.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sandbox {

// Only the members that the contract names, each of the type it names; `raw` may be anything.
nlohmann::json checked_output(const nlohmann::json& raw);

}  // namespace sandbox
