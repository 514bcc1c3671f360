// Where the sources are: the working directory, which CTest sets. So no path is compiled in, and a
// copy of the tree can be tested by a user who may not see the original.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

inline std::string source_directory() {
  const auto here = std::filesystem::current_path();
  if (!std::filesystem::exists(here / "sandbox/policy/default.json")) {
    throw std::runtime_error("start this test in the directory of the sources, as ctest does");
  }
  return here.string();
}
