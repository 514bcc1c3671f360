// Where the sources are: those the tests were built from, or a copy that HUTCH_SOURCE_DIR names
// (tests/run.sh gives one to the ordinary user, who may not see the original).
#pragma once

#include <cstdlib>
#include <string>

inline std::string source_directory() {
  const char* copy = std::getenv("HUTCH_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return copy != nullptr ? copy : HUTCH_TEST_SOURCE_DIR;
}
