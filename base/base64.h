// Base64: one text for one value, both ways. https://www.rfc-editor.org/rfc/rfc4648
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace base {

// They follow section 4, padded. Decoding gives nothing for what encoding cannot have made: other
// bytes, too little padding or too much, bits left over that are set.
std::string to_base64(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);

// Decodes section 4 as people and programs write it into lines: breaks and blanks are accepted.
std::optional<std::string> from_base64_lines(std::string_view text);

// It follows section 5, as JSON Web Tokens have it: without padding.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace base
