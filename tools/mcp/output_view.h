// The outputs of a run as a result shows them: what fits, and where the rest is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tools {

// Characters of `value` printed as JSON.
std::size_t json_characters(const nlohmann::json& value);

// `outputs` (as in sandbox/output.h), in order, with at most `room` characters together. What is
// cut or left out of one is named in its `truncated`: {<format>: {total_bytes, file}}; the last
// outputs are left out when there are too many even for that. `record_file` has all of them.
nlohmann::json outputs_within(const std::vector<nlohmann::json>& outputs, std::size_t room,
                              const std::string& record_file);

}  // namespace tools
