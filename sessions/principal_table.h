// Principals, by their names. Safe from any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace sessions {

struct StoreFile;

class PrincipalTable {
 public:
  explicit PrincipalTable(StoreFile& file) : file_(file) {}

  // Returns the id of the principal of that name, who is made when there is none.
  base::Result<std::string> ensure(const std::string& name);

 private:
  base::Result<std::optional<std::string>> named(const std::string& name);

  StoreFile& file_;
};

}  // namespace sessions
