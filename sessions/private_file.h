// Files that keys are in: 0600, whole or not there.
#pragma once

#include <functional>
#include <string>

#include "sandbox/base/result.h"

namespace sessions {

// What is in the file; where there is none, what `make` gives is put there first. Of several that
// make it at once one does, and all have the same.
base::Result<std::string> private_file(const std::string& path,
                                       const std::function<base::Result<std::string>()>& make);

// Writes it anew where it has other contents; readable by all.
base::Status keep_public_file(const std::string& path, const std::string& content);

base::Result<std::string> content_of_file(const std::string& path);

}  // namespace sessions
