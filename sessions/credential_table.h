// Credentials that the door to the network adds to requests; their values are sealed. Safe from any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sandbox/credential.h"

namespace sessions {

struct StoreFile;

struct StoredCredential {
  sandbox::Credential credential;
  std::string source;  // value: it lies under the seal; command: what prints it, each time
  std::string sealed;  // by sealing.h, bound to its name
  std::int64_t updated_at = 0;
};

class CredentialTable {
 public:
  explicit CredentialTable(StoreFile& file) : file_(file) {}

  // Takes the place of the one of that name, if any.
  base::Status put(const StoredCredential& credential);
  base::Result<std::vector<StoredCredential>> list();
  // Fails with kNotFound where there is none of this name.
  base::Result<StoredCredential> find(const std::string& name);
  base::Status remove(const std::string& name);

 private:
  StoreFile& file_;
};

}  // namespace sessions
