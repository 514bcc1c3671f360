#include "sandbox/egress/redactor.h"

#include <algorithm>

namespace sandbox::egress {

Redactor::Redactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& s) { return s.size() < kSecretBytesMin; });
  // One may be within another: the whole of it goes.
  std::sort(secrets_.begin(), secrets_.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::size_t Redactor::redact(std::span<char> text) const {
  const std::string_view seen(text.data(), text.size());
  std::size_t held = 0;
  for (const std::string& secret : secrets_) {
    for (std::size_t at = seen.find(secret); at != std::string_view::npos;
         at = seen.find(secret, at)) {
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), '*');
      at += secret.size();
    }
  }
  for (const std::string& secret : secrets_) {
    const std::size_t most = std::min(secret.size() - 1, seen.size());
    for (std::size_t size = most; size > held; --size) {
      if (seen.ends_with(std::string_view(secret).substr(0, size))) held = size;
    }
  }
  return held;
}

std::string Redactor::redacted(std::string_view text) const {
  std::string copy(text);
  (void)redact(copy);
  return copy;
}

}  // namespace sandbox::egress
