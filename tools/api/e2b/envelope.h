// Messages of the Connect protocol in their envelopes: a byte of flags, four of length with the
// highest first, and JSON. https://connectrpc.com/docs/protocol#streaming-rpcs
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace tools::api::e2b {

inline constexpr unsigned char kEndOfStream = 2;  // a bit of the flags
inline constexpr std::size_t kMessagesMost = 10'000;

std::string enveloped(unsigned char flags, const nlohmann::json& message);

// Returns an object; for an empty text an empty one. kInvalid for all else.
base::Result<nlohmann::json> parse_message(std::string_view text);

// Returns all messages of a body. kInvalid for what is no row of messages, kLimit for more than
// kMessagesMost.
base::Result<std::vector<nlohmann::json>> messages_in(std::string_view body);

}  // namespace tools::api::e2b
