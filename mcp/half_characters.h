// Halves of characters in what a client sends: JSON can write a surrogate without its other half
// (RFC 8259, section 8.2), JavaScript's JSON.stringify does it for an emoji that was cut in two,
// and no text in UTF-8 can hold it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

// Stands in a text or a name for half a character until somebody has decided about it. These bytes
// are no UTF-8, and so no other text that was read has them.
inline constexpr std::string_view kHalfCharacter = "\xED\xA0\x80";

using JsonParser = std::function<std::optional<nlohmann::json>(std::string_view)>;

// Returns what `parse` makes of `text` where lone surrogates are all that is wrong with it, with
// kHalfCharacter in place of each; nothing for any other text.
std::optional<nlohmann::json> parse_halves(std::string_view text, const JsonParser& parse);

// Returns whether a text or a name in it has kHalfCharacter.
bool has_half(const nlohmann::json& value);

// Returns the text with U+FFFD in place of each kHalfCharacter.
std::string with_replaced_halves(const std::string& text);

}  // namespace mcp
