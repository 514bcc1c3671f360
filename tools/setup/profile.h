// The AppArmor profile without which ordinary users of Ubuntu 24.04 can make no sandbox.
#pragma once

#include <string>

#include "base/result.h"

namespace tools::setup {

// A Profile stands for packaging/apparmor/install.sh, for the programs of one directory.
class Profile {
 public:
  Profile(const std::string& data_directory, std::string program_directory)
      : script_(data_directory + "/apparmor/install.sh"), programs_(std::move(program_directory)) {}

  // Returns whether this host and this user need the profile; false where nobody can tell.
  [[nodiscard]] bool is_needed() const;
  // Loads the profile by sudo, which asks for a password at the terminal if it `may_ask`. The
  // script says itself what it does, and what went wrong.
  [[nodiscard]] base::Status load(bool may_ask) const;

 private:
  [[nodiscard]] base::Result<int> run(const char* mode, bool may_ask) const;

  std::string script_;
  std::string programs_;
};

}  // namespace tools::setup
