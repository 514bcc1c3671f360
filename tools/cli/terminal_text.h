// A terminal obeys what is written to it: the clipboard, the title, lines above and answers on the
// keyboard are a sequence away. So the text of others passes through here. ECMA-48, and
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
#pragma once

#include <string>
#include <string_view>

namespace tools::cli {

inline constexpr const char* kNoColours = "\x1b[0m";

// A terminal gets colours (SGR) and the erasing of a line's end (EL), which grep and gcc send with
// each colour. All other control characters of both sets, those that turn the direction of text,
// and bytes that are no UTF-8 are shown as \xHH or \uHHHH. It is fed in pieces, however they are
// cut.
class TerminalText {
 public:
  // A carriage return lets text write over its own line, as progress bars do.
  enum class Returns { kPass, kShow };
  explicit TerminalText(Returns returns) : returns_(returns) {}

  // A sequence or character that is not whole yet waits for the next piece.
  std::string take(std::string_view piece);
  // Shows the part that waits, when nothing follows.
  std::string rest();
  // Colours are on that the text has not switched off.
  [[nodiscard]] bool is_coloured() const { return is_coloured_; }

 private:
  // Both add the beginning of `text` to `shown`, and return how much of it; 0: it is not whole.
  std::size_t take_sequence(std::string_view text, std::string& shown);
  std::size_t take_character(std::string_view text, std::string& shown) const;

  const Returns returns_;
  std::string waiting_;
  bool is_coloured_ = false;
};

}  // namespace tools::cli
