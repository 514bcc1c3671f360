#include "base/random_id.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

namespace base {
namespace {

constexpr std::size_t kBytes = 16;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kShortDigits = 12;
// 32 of them, without those that people take for others.
constexpr std::string_view kShortAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";

std::array<unsigned char, kBytes> random_bytes() {
  std::array<unsigned char, kBytes> bytes{};
  // Up to 256 bytes getrandom() is all or nothing, and fails on no kernel hutch runs on.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return bytes;
}

bool is_of(std::string_view text, std::string_view prefix, std::string_view digits,
           std::size_t count) {
  return text.starts_with(prefix) && text.size() == prefix.size() + count &&
         text.find_first_not_of(digits, prefix.size()) == std::string_view::npos;
}

}  // namespace

std::string random_id(std::string_view prefix) {
  const auto bytes = random_bytes();
  return std::string(prefix) + in_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string short_id(std::string_view prefix) {
  const auto bytes = random_bytes();
  std::string id(prefix);
  for (std::size_t i = 0; i < kShortDigits; ++i) id += kShortAlphabet[bytes[i] & 31];
  return id;
}

bool is_random_id(std::string_view text, std::string_view prefix) {
  return is_of(text, prefix, kDigits, 2 * kBytes);
}

bool is_short_id(std::string_view text, std::string_view prefix) {
  return is_of(text, prefix, kShortAlphabet, kShortDigits) || is_random_id(text, prefix);
}

}  // namespace base
