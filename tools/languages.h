// The languages that there are to run code in, on this machine.
#pragma once

#include <string>
#include <vector>

#include "sessions/manager_config.h"

namespace tools {

// Returns the languages as run_code takes them: those whose interpreter is there in sessions that
// ask for nothing special.
std::vector<std::string> languages_there(const sessions::ManagerConfig& config);

// Returns "Python, SQL or bash".
std::string words_of_languages(const std::vector<std::string>& languages);

}  // namespace tools
