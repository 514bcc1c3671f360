// SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), by OpenSSL. All fail with kInternal alone,
// where OpenSSL has no memory or is kept from these algorithms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct evp_md_ctx_st;

namespace base {

// Both return 32 bytes.
Result<std::string> sha256(std::string_view bytes);
Result<std::string> hmac_sha256(std::string_view key, std::string_view text);

// Returns 64 lower-case digits.
Result<std::string> sha256_hex(std::string_view bytes);
// Returns the digest of the first `bytes` of a file; nothing when it has fewer.
Result<std::optional<std::string>> sha256_hex_of_file(int fd, std::int64_t bytes);

// Takes what comes in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  // Returns 32 bytes. To be called once.
  Result<std::string> finish();

 private:
  evp_md_ctx_st* context_;
  bool good_ = true;
};

}  // namespace base
