// Shapes one output of a cell as /execute tells of it: whole, in the shape of a Jupyter display.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sessions/run_state.h"
#include "tools/tools.h"

namespace tools::api::e2b {

struct CellResult {
  std::string event;                  // in JSON
  std::vector<std::string> left_out;  // a sentence for each form that is not all there
};

// `at` is the output's place among those of the run, which has ended.
CellResult cell_result(const Services& services, const sessions::RunState& state, std::size_t at);

}  // namespace tools::api::e2b
