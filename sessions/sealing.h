// Texts that lie in the database sealed with AES-256-GCM, under a key that does not: a file beside
// it, which whoever copies the database alone has not.
#pragma once

#include <array>
#include <string>

#include "base/result.h"

namespace sessions {

using SealingKey = std::array<unsigned char, 32>;

// The key in the file, which is made when there is none; 0600.
base::Result<SealingKey> sealing_key_in(const std::string& path);

// `bound`: what it is for; it opens for nothing else.
base::Result<std::string> seal(const SealingKey& key, const std::string& text,
                               const std::string& bound);
// kInvalid: it was sealed under another key, for something else, or has been changed.
base::Result<std::string> unseal(const SealingKey& key, const std::string& sealed,
                                 const std::string& bound);

}  // namespace sessions
