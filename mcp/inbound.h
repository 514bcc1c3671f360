// Inbound is what one text from a client holds, before anything is done with it: for a Connection,
// and for a transport that has checks of its own to make first.
#pragma once

#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/message.h"

namespace mcp {

struct Inbound {
  using Item = std::variant<Message, RpcError>;  // the error of one element of a batch

  bool is_batch = false;
  std::vector<Item> items;  // a batch may be empty; else one, and that is a Message
  std::size_t bytes = 0;    // the text's size
};

// Returns an error when the whole text is wrong: no JSON, too deep, too large, too many, or one
// wrong message.
std::variant<Inbound, RpcError> read_inbound(std::string_view text);

// Returns true when a message of it claims a revision of the modern era (see request_meta.h).
bool has_modern_claim(const Inbound& inbound);

}  // namespace mcp
