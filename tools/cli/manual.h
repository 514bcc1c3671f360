// Prints what `hutch --help` says for man(1) and for the shells, from the same table.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace tools::cli {

// Returns a page of section 1, as roff (man(7)).
std::string manual_page(const CLI::App& app, const std::string& version);

// Returns a script that bash, zsh or fish sources; empty for another shell.
std::string completion_for(const std::string& shell, const CLI::App& app);

}  // namespace tools::cli
