// diff -u for a change that adds or takes out one run of bytes. Of long lines, in which whole files
// may be, with what is no business of a terminal's, what is near the change.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "tools/setup/change.h"

namespace tools::setup {
namespace {

constexpr std::ptrdiff_t kAround = 3;  // lines
constexpr std::size_t kLongLineBytes = 240;
constexpr std::size_t kAroundBytes = 60;

struct Line {
  std::size_t at;  // in its text
  std::string_view bytes;

  bool operator==(const Line& other) const { return bytes == other.bytes; }
};

std::vector<Line> split_into_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({begin, line});
    begin = end + 1;
  }
  return lines;
}

bool is_inside_character(std::string_view line, std::size_t at) {
  return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U;
}

// From byte `first` to byte `last` of its text is what is changed.
std::string shown(const Line& line, std::size_t first, std::size_t last) {
  if (line.bytes.size() <= kLongLineBytes) return std::string(line.bytes);
  const auto within = [&line](std::size_t at) {
    return std::min(at > line.at ? at - line.at : 0, line.bytes.size());
  };
  std::size_t from = within(first > kAroundBytes ? first - kAroundBytes : 0);
  std::size_t to = within(last + kAroundBytes);
  while (from > 0 && is_inside_character(line.bytes, from)) --from;
  while (is_inside_character(line.bytes, to)) ++to;
  return (from > 0 ? "..." : "") + std::string(line.bytes.substr(from, to - from)) +
         (to < line.bytes.size() ? "..." : "");
}

}  // namespace

std::string difference(const Change& change) {
  const auto old = split_into_lines(change.before);
  const auto now = split_into_lines(change.after);
  const auto [first_old, first_now] = std::mismatch(old.begin(), old.end(), now.begin(), now.end());
  const auto first = first_old - old.begin();
  const auto [last_old, last_now] =
      std::mismatch(old.rbegin(), old.rend() - first, now.rbegin(), now.rend() - first);
  const auto old_end = old.rend() - last_old;
  const auto now_end = now.rend() - last_now;
  const auto begin = std::max<std::ptrdiff_t>(first - kAround, 0);
  const auto end = std::min<std::ptrdiff_t>(old_end + kAround, std::ssize(old));
  const auto same =
      static_cast<std::size_t>(std::mismatch(change.before.begin(), change.before.end(),
                                             change.after.begin(), change.after.end())
                                   .first -
                               change.before.begin());
  const auto same_behind = static_cast<std::size_t>(
      std::mismatch(change.before.rbegin(),
                    change.before.rend() - static_cast<std::ptrdiff_t>(same), change.after.rbegin(),
                    change.after.rend() - static_cast<std::ptrdiff_t>(same))
          .first -
      change.before.rbegin());
  std::string text = "--- " + (change.was_there ? change.file : "/dev/null") + "\n+++ " +
                     (change.stays ? change.file : "/dev/null") + "\n@@ -" +
                     std::to_string(begin + 1) + " @@\n";
  const auto add = [&](char mark, const std::vector<Line>& lines, std::ptrdiff_t from,
                       std::ptrdiff_t to, std::size_t bytes) {
    for (auto i = from; i < to; ++i) {
      text += mark + shown(lines[static_cast<std::size_t>(i)], same, bytes - same_behind) + "\n";
    }
  };
  add(' ', old, begin, first, change.before.size());
  add('-', old, first, old_end, change.before.size());
  add('+', now, first, now_end, change.after.size());
  add(' ', old, old_end, end, change.before.size());
  return text;
}

}  // namespace tools::setup
