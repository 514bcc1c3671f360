// SHA-256 by OpenSSL, as 64 hexadecimal digits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/base/result.h"

struct evp_md_ctx_st;

namespace sessions {

base::Result<std::string> sha256_hex(std::string_view bytes);
// Returns the digest of the first `bytes` of a file; nothing when it has fewer.
base::Result<std::optional<std::string>> sha256_hex_of_file(int fd, std::int64_t bytes);

// For what comes in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  // Once.
  base::Result<std::string> finish();

 private:
  evp_md_ctx_st* context_;
  bool good_ = true;
};

}  // namespace sessions
