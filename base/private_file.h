// Files that keys are in: 0600, whole or not there.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace base {

// Returns what is in the file; where there is none, puts there first what `make` returns. When
// several make it at once, one does, and all return the same.
Result<std::string> private_file(const std::string& path,
                                 const std::function<Result<std::string>()>& make);

// Writes it anew where it has other contents; readable by all.
Status keep_public_file(const std::string& path, const std::string& content);

Result<std::string> content_of_file(const std::string& path);

}  // namespace base
