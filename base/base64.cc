#include "base/base64.h"

#include <openssl/evp.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace base {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Decodes a text without padding. Returns nothing for what encoding cannot have made.
std::optional<std::string> decode(std::string_view text, std::string_view digits) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (const char digit : text) {
    const std::size_t value = digits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xFFFF;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> bit_count & 0xFF);
  }
  const bool whole = bit_count < 6 && (bits & ((1U << bit_count) - 1)) == 0;
  return whole ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0);
  return decode(text, kDigits);
}

std::optional<std::string> from_base64_lines(std::string_view text) {
  const std::unique_ptr<EVP_ENCODE_CTX, decltype(&::EVP_ENCODE_CTX_free)> context(
      ::EVP_ENCODE_CTX_new(), &::EVP_ENCODE_CTX_free);
  ::EVP_DecodeInit(context.get());
  std::string bytes(text.size() + 3, '\0');
  int size = 0;
  int rest = 0;
  auto* out = reinterpret_cast<unsigned char*>(bytes.data());
  if (::EVP_DecodeUpdate(context.get(), out, &size,
                         reinterpret_cast<const unsigned char*>(text.data()),
                         static_cast<int>(text.size())) < 0 ||
      ::EVP_DecodeFinal(context.get(), out + size, &rest) < 0) {
    return std::nullopt;
  }
  bytes.resize(static_cast<std::size_t>(size) + static_cast<std::size_t>(rest));
  return bytes;
}

std::optional<std::string> from_base64url(std::string_view text) {
  return decode(text, kUrlDigits);
}

}  // namespace base
