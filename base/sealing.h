// Texts sealed with AES-256-GCM (NIST SP 800-38D), by OpenSSL: who has no key can neither read nor
// change one.
#pragma once

#include <array>
#include <string>

#include "base/result.h"

namespace base {

using SealingKey = std::array<unsigned char, 32>;

// Returns a random nonce of 12 bytes, the sealed text, and its tag of 16 bytes. It opens with the
// same `bound` alone, which says what it is for. kInternal: OpenSSL has no memory or random bytes.
Result<std::string> seal(const SealingKey& key, const std::string& text, const std::string& bound);
// Returns the text. kInvalid: it was sealed under another key, for something else, or has been
// changed.
Result<std::string> unseal(const SealingKey& key, const std::string& sealed,
                           const std::string& bound);

}  // namespace base
