// Halves of characters in code that a client sends: JSON can write a surrogate without its other
// half (RFC 8259, section 8.2), JavaScript's JSON.stringify does it for an emoji that was cut in
// two, and no text in UTF-8 can hold it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

// The text of a message with U+FFFD in place of each escape of a lone surrogate; nothing when it
// has none.
std::optional<std::string> with_whole_characters(std::string_view text);

// True where only the member `code` of `arguments` has U+FFFD: whoever runs it sees what came. In a
// name, or in text that goes into a file, it would be something else than what was meant.
bool only_code_is_replaced(nlohmann::json arguments);

}  // namespace mcp
