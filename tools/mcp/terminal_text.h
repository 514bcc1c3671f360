// Makes readable text of output that was meant for a terminal: colours taken out, lines as they
// were last written.
// ECMA-48; https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

struct TerminalText {
  std::string text;
  bool was_written_over = false;  // something that was there is not in `text`
};

// `text` is UTF-8. Cursor moves and erasing do what they say on a page as wide and high as it gets;
// clearing the screen begins a new page, below the one before, so that nothing is lost by it.
TerminalText as_last_seen(std::string_view text);

// Returns a part of the output that others go before and behind, as text: what steers a terminal is
// only taken out.
std::string without_codes(std::string_view text);

// Bytes of `text` without a sequence at its end that has not come to its end yet.
std::size_t whole_codes(std::string_view text);

}  // namespace tools
