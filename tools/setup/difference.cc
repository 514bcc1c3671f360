// diff -u for a change that adds or takes out one run of bytes.
#include <algorithm>
#include <iterator>
#include <vector>

#include "tools/setup/change.h"

namespace tools::setup {
namespace {

constexpr std::ptrdiff_t kAround = 3;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string difference(const Change& change) {
  const auto old = lines_of(change.before);
  const auto now = lines_of(change.after);
  const auto [first_old, first_now] = std::mismatch(old.begin(), old.end(), now.begin(), now.end());
  const auto first = first_old - old.begin();
  const auto [last_old, last_now] =
      std::mismatch(old.rbegin(), old.rend() - first, now.rbegin(), now.rend() - first);
  const auto old_end = old.rend() - last_old;
  const auto now_end = now.rend() - last_now;
  const auto begin = std::max<std::ptrdiff_t>(first - kAround, 0);
  const auto end = std::min<std::ptrdiff_t>(old_end + kAround, std::ssize(old));
  std::string shown = "--- " + (change.was_there ? change.file : "/dev/null") + "\n+++ " +
                      (change.stays ? change.file : "/dev/null") + "\n@@ -" +
                      std::to_string(begin + 1) + " @@\n";
  for (auto i = begin; i < first; ++i) shown += " " + old[static_cast<std::size_t>(i)] + "\n";
  for (auto i = first; i < old_end; ++i) shown += "-" + old[static_cast<std::size_t>(i)] + "\n";
  for (auto i = first; i < now_end; ++i) shown += "+" + now[static_cast<std::size_t>(i)] + "\n";
  for (auto i = old_end; i < end; ++i) shown += " " + old[static_cast<std::size_t>(i)] + "\n";
  return shown;
}

}  // namespace tools::setup
