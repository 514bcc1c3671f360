// Texts that lie in the database sealed (base/sealing.h), under a key that does not: a file beside
// it, which whoever copies the database alone has not.
#pragma once

#include <string>

#include "base/result.h"
#include "base/sealing.h"

namespace sessions {

// Returns the key in the file, which is made when there is none; 0600.
base::Result<base::SealingKey> sealing_key_in(const std::string& path);

// They work as base::seal() and base::unseal() do, in hexadecimal digits for a column of text.
base::Result<std::string> seal_in_digits(const base::SealingKey& key, const std::string& text,
                                         const std::string& bound);
base::Result<std::string> unseal_digits(const base::SealingKey& key, const std::string& digits,
                                        const std::string& bound);

}  // namespace sessions
