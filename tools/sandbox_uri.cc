#include "tools/sandbox_uri.h"

namespace tools {
namespace {

constexpr std::string_view kScheme = "sandbox://";

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_value(text[i + 1]);
    const int low = hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

}  // namespace

std::string percent_encode(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char letter : path) {
    const auto code = static_cast<unsigned char>(letter);
    const bool plain = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
                       (code >= '0' && code <= '9') ||
                       std::string_view("/-._~").find(letter) != std::string_view::npos;
    if (plain) {
      encoded += letter;
    } else {
      encoded += '%';
      encoded += kDigits[code >> 4];
      encoded += kDigits[code & 15];
    }
  }
  return encoded;
}

std::string sandbox_uri(std::string_view authority, std::string_view path) {
  return std::string(kScheme) + percent_encode(authority) + percent_encode(path);
}

std::string shared_id_of(const std::string& path) { return path.substr(1, path.find('/', 1) - 1); }

std::optional<SandboxUri> parse_sandbox_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  if (uri.find_first_of("?#") != std::string_view::npos) return std::nullopt;
  const std::size_t slash = uri.find('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  auto authority = percent_decode(uri.substr(0, slash));
  auto path = percent_decode(uri.substr(slash));
  if (!authority || !path) return std::nullopt;
  if ((*authority + *path).find('\0') != std::string::npos) return std::nullopt;
  return SandboxUri{std::move(*authority), std::move(*path)};
}

}  // namespace tools
