#include "tools/mcp/terminal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "tools/text_window.h"

namespace tools {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\x07';
// Longer ones are none, and text behind what looks like their beginning is to be seen.
constexpr std::size_t kSequenceBytesMax = 512;
// Characters and lines that may be made or erased for each byte of what is written, and for any: a
// few bytes can ask for very much of both.
constexpr std::size_t kStepsEachByte = 4;
constexpr std::size_t kStepsLeast = 64 * 1024;
// How far the cursor can be moved beyond what has been written.
constexpr std::size_t kBeyondMost = 500;
constexpr std::size_t kNumbersMax = 4;

enum class SequenceKind { kControl, kString, kOther, kNone, kIncomplete };

struct Sequence {
  SequenceKind kind = SequenceKind::kNone;
  std::size_t bytes = 0;
  char final = '\0';
  bool is_private = false;
  std::array<std::size_t, kNumbersMax> numbers{};
  std::size_t count = 0;

  [[nodiscard]] std::size_t number(std::size_t at, std::size_t usual) const {
    return at < count && numbers[at] > 0 ? numbers[at] : usual;
  }
};

bool is_between(char byte, char first, char last) { return byte >= first && byte <= last; }

void read_numbers(std::string_view parameters, Sequence& sequence) {
  while (sequence.count < kNumbersMax) {
    std::size_t value = 0;
    (void)std::from_chars(parameters.data(), parameters.data() + parameters.size(), value);
    sequence.numbers[sequence.count++] = value;
    const std::size_t next = parameters.find_first_of(";:");
    if (next == parameters.npos) return;
    parameters.remove_prefix(next + 1);
  }
}

Sequence control_sequence(std::string_view text) {
  constexpr std::size_t kIntroducerBytes = 2;
  std::size_t at = kIntroducerBytes;
  while (at < text.size() && is_between(text[at], '\x20', '\x3f')) ++at;
  if (at >= text.size()) return {.kind = SequenceKind::kIncomplete};
  if (!is_between(text[at], '\x40', '\x7e')) return {};
  Sequence sequence{.kind = SequenceKind::kControl, .bytes = at + 1, .final = text[at]};
  std::string_view parameters = text.substr(kIntroducerBytes, at - kIntroducerBytes);
  sequence.is_private = !parameters.empty() && is_between(parameters[0], '\x3c', '\x3f');
  if (sequence.is_private) parameters.remove_prefix(1);
  read_numbers(parameters, sequence);
  return sequence;
}

// A title, a link, a picture: up to BEL or ESC \.
Sequence string_sequence(std::string_view text) {
  for (std::size_t at = 2; at < text.size(); ++at) {
    if (text[at] == kBell) return {.kind = SequenceKind::kString, .bytes = at + 1};
    if (text[at] != kEscape) continue;
    if (at + 1 == text.size()) return {.kind = SequenceKind::kIncomplete};
    if (text[at + 1] == '\\') return {.kind = SequenceKind::kString, .bytes = at + 2};
  }
  return {.kind = SequenceKind::kIncomplete};
}

// The sequence that begins with the escape at the start of `text`.
Sequence sequence_at(std::string_view text) {
  text = text.substr(0, kSequenceBytesMax);
  if (text.size() < 2) return {.kind = SequenceKind::kIncomplete};
  const char second = text[1];
  if (second == '[') return control_sequence(text);
  if (std::string_view("]PX^_").find(second) != std::string_view::npos) {
    return string_sequence(text);
  }
  if (is_between(second, '\x20', '\x2f')) {  // it chooses character sets
    if (text.size() < 3) return {.kind = SequenceKind::kIncomplete};
    return {.kind = SequenceKind::kOther, .bytes = 3};
  }
  if (is_between(second, '\x30', '\x7e'))
    return {.kind = SequenceKind::kOther, .bytes = 2, .final = second};
  return {};
}

// A page, and those before it.
class Screen {
 public:
  // False when it takes more than an honest program's output does.
  bool write(std::string_view text) {
    steps_left_ = kStepsLeast + kStepsEachByte * text.size();
    while (!text.empty() && steps_left_ > 0) text.remove_prefix(take(text));
    if (steps_left_ > 0) end_page();
    return steps_left_ > 0;
  }

  TerminalText result() { return {std::move(done_), was_written_over_}; }

 private:
  using Line = std::vector<std::string_view>;  // one view for each character

  void spend(std::size_t steps) { steps_left_ -= std::min(steps_left_, steps); }

  std::size_t take(std::string_view text) {
    switch (text[0]) {
      case '\n':
        ++row_;
        column_ = 0;
        returned_ = false;
        line();
        return 1;
      case '\r':
        column_ = 0;
        returned_ = text.size() > 1 && text[1] != '\n';
        return 1;
      case '\b':
        column_ -= std::min<std::size_t>(column_, 1);
        return 1;
      case kBell:
        return 1;
      case kEscape: {
        const Sequence sequence = sequence_at(text);
        if (sequence.bytes == 0) {
          if (sequence.kind == SequenceKind::kIncomplete) spend(kSequenceBytesMax);
          return 1;
        }
        obey(sequence);
        return sequence.bytes;
      }
      default: {
        const std::size_t size = std::max<std::size_t>(character_size(text), 1);
        put(text.substr(0, size));
        return size;
      }
    }
  }

  Line& line() {
    row_ = std::min(row_, lines_.size() + kBeyondMost);
    if (row_ >= lines_.size()) {
      spend(row_ + 1 - lines_.size());
      lines_.resize(row_ + 1);
    }
    return lines_[row_];
  }

  void put(std::string_view character) {
    Line& here = line();
    // A line that is written anew, as a progress bar is, has nothing of the longer one before it.
    if (std::exchange(returned_, false)) erase(here, 0, here.size());
    column_ = std::min(column_, here.size() + kBeyondMost);
    if (column_ > here.size()) {
      spend(column_ - here.size());
      here.resize(column_, " ");
    }
    if (column_ == here.size()) {
      here.push_back(character);
    } else {
      was_written_over_ = was_written_over_ || (here[column_] != " " && here[column_] != character);
      here[column_] = character;
    }
    ++column_;
  }

  void erase(Line& here, std::size_t first, std::size_t end) {
    end = std::min(end, here.size());
    spend(end - std::min(first, end));
    for (std::size_t at = first; at < end; ++at) {
      was_written_over_ = was_written_over_ || here[at] != " ";
      here[at] = " ";
    }
    if (end == here.size()) here.resize(std::min(first, here.size()));
  }

  void erase_line(std::size_t what) {
    Line& here = line();
    if (what == 0) return erase(here, column_, here.size());
    if (what == 1) return erase(here, 0, column_ + 1);
    erase(here, 0, here.size());
  }

  void erase_page(std::size_t what) {
    if (what >= 2 || (what == 0 && row_ == 0 && column_ == 0)) return end_page();
    if (what == 1 && row_ + 1 >= lines_.size() && column_ >= line().size()) {
      const std::size_t column = column_;
      end_page();
      column_ = column;
      return;
    }
    erase_line(what);
    const std::size_t first = what == 0 ? row_ + 1 : 0;
    const std::size_t end = what == 0 ? lines_.size() : row_;
    spend(end - std::min(first, end));
    for (std::size_t at = first; at < end; ++at) erase(lines_[at], 0, lines_[at].size());
  }

  void obey(const Sequence& sequence) {
    if (sequence.kind == SequenceKind::kOther) return obey_short(sequence.final);
    if (sequence.kind != SequenceKind::kControl) return;
    if (sequence.is_private) {
      constexpr std::size_t kOtherScreen = 1049;
      if (sequence.number(0, 0) == kOtherScreen) end_page();
      return;
    }
    if (sequence.final != 'm') returned_ = false;
    const std::size_t count = sequence.number(0, 1);
    switch (sequence.final) {
      case 'A':
      case 'F':
        row_ -= std::min(row_, count);
        if (sequence.final == 'F') column_ = 0;
        break;
      case 'B':
      case 'E':
        row_ = std::min(row_ + count, lines_.size() + kBeyondMost);
        if (sequence.final == 'E') column_ = 0;
        break;
      case 'C':
        column_ = std::min(column_ + count, line().size() + kBeyondMost);
        break;
      case 'D':
        column_ -= std::min(column_, count);
        break;
      case 'G':
        column_ = count - 1;
        break;
      case 'd':
        row_ = count - 1;
        break;
      case 'H':
      case 'f':
        row_ = count - 1;
        column_ = sequence.number(1, 1) - 1;
        break;
      case 'J':
        erase_page(sequence.number(0, 0));
        break;
      case 'K':
        erase_line(sequence.number(0, 0));
        break;
      case 'X':
        erase(line(), column_, column_ + count);
        break;
      case 's':
        save();
        break;
      case 'u':
        restore();
        break;
      default:
        break;
    }
  }

  void obey_short(char final) {
    if (final == 'c') end_page();
    if (final == '7') save();
    if (final == '8') restore();
    if (final == 'M') row_ -= std::min<std::size_t>(row_, 1);
    if (final == 'E') column_ = 0;
    if (final == 'D' || final == 'E') ++row_;
  }

  void save() {
    saved_row_ = row_;
    saved_column_ = column_;
  }
  void restore() {
    row_ = saved_row_;
    column_ = saved_column_;
  }

  void end_page() {
    if (!done_.empty() && !done_.ends_with('\n') && !lines_.empty()) done_ += '\n';
    for (std::size_t at = 0; at < lines_.size(); ++at) {
      for (const std::string_view character : lines_[at]) done_ += character;
      while (done_.ends_with(' ')) done_.pop_back();
      if (at + 1 < lines_.size()) done_ += '\n';
    }
    lines_.clear();
    row_ = column_ = saved_row_ = saved_column_ = 0;
    returned_ = false;
  }

  std::string done_;
  std::vector<Line> lines_;
  std::size_t steps_left_ = 0;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::size_t saved_row_ = 0;
  std::size_t saved_column_ = 0;
  bool returned_ = false;  // to the beginning of a line, and nothing has been written since
  bool was_written_over_ = false;
};

}  // namespace

TerminalText as_last_seen(std::string_view text) {
  if (text.find_first_of("\x1b\b\x07") == text.npos) {
    std::string seen = last_states(text);
    const bool differs = seen != text;
    return {std::move(seen), differs};
  }
  Screen screen;
  if (screen.write(text)) return screen.result();
  return {last_states(without_codes(text)), true};
}

std::string without_codes(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find_first_of("\x1b\x07"), text.size());
    plain += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    text.remove_prefix(text[0] == kEscape ? std::max<std::size_t>(sequence_at(text).bytes, 1) : 1);
  }
  return plain;
}

std::size_t whole_codes(std::string_view text) {
  const std::size_t from = text.size() - std::min(text.size(), kSequenceBytesMax);
  // A string may hold an escape itself, as its last byte but one.
  for (std::size_t at = text.find(kEscape, from); at != text.npos;) {
    const Sequence sequence = sequence_at(text.substr(at));
    if (sequence.kind == SequenceKind::kIncomplete) return at;
    at = text.find(kEscape, at + std::max<std::size_t>(sequence.bytes, 1));
  }
  return text.size();
}

}  // namespace tools
