#include "sandbox/base/random_id.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace base {
namespace {
constexpr std::size_t kBytes = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
}  // namespace

std::string random_id(std::string_view prefix) {
  std::array<unsigned char, kBytes> bytes{};
  // Up to 256 bytes getrandom() is all or nothing, and fails on no kernel hutch runs on.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  std::string id(prefix);
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4];
    id += kDigits[byte & 15];
  }
  return id;
}

bool is_random_id(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() != prefix.size() + 2 * kBytes) return false;
  return text.substr(prefix.size()).find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace base
