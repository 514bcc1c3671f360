// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), by OpenSSL. Empty: it has no memory.
#pragma once

#include <string>
#include <string_view>

namespace sandbox::egress {

std::string sha256_in_hex(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view text);
std::string in_hex(std::string_view bytes);

}  // namespace sandbox::egress
