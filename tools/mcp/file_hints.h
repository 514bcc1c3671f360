// Says how code reads a file that read_file does not show as text.
#pragma once

#include <cstdint>
#include <string>

namespace tools {

// Returns a hint for a PDF, an Office file or a picture that clients do not show, by its MIME type;
// empty for all else. `path` is as the user sees it.
std::string hint_of_type(const std::string& mime_type, const std::string& path);

// Returns a hint for text in a charset that its bytes do not tell for sure; empty for what makes no
// sense in any. `beginning` is of the file, and neither UTF-8 nor known by charset_of().
std::string hint_of_charsets(const std::string& beginning, const std::string& path);

// Returns a hint for `text` that was read from `offset` on as of a charset that charset_of() has
// found: which other may be meant, or what was no text of it; empty where there is nothing to say.
std::string hint_of_guess(const std::string& charset, const std::string& text, std::int64_t offset);

}  // namespace tools
