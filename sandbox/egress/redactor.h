// Keeps secrets out of what a host answers: each of their bytes becomes an asterisk, so that
// nothing that counts bytes changes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sandbox::egress {

class Redactor {
 public:
  static constexpr std::size_t kSecretBytesMin = 4;  // shorter ones would be found anywhere

  explicit Redactor(std::vector<std::string> secrets);

  // Returns how many bytes at the end of `text` may be the beginning of a secret, once whole ones
  // are gone: they have to wait for what follows.
  std::size_t redact(std::span<char> text) const;
  [[nodiscard]] std::string redacted(std::string_view text) const;

 private:
  std::vector<std::string> secrets_;
};

}  // namespace sandbox::egress
