// Finds what a run has shown and a terminal does not: pictures, and tables of which the text is a
// part.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"

namespace tools::cli {

struct Unshown {
  enum class Form { kPicture, kCsv, kTable };
  std::string name;   // names the file to save it in
  Form form;          // kTable: as JSON, to be saved as CSV
  std::string whole;  // the file of the run that has it; empty: `inline_text` is it
  std::string inline_text;
};

inline constexpr std::size_t kSavedBytesMax = 512U << 20;  // for one form, or files together

std::vector<Unshown> find_unshown(const sandbox::Run& run);

// Returns its bytes as they are to be saved. kLimit where it is larger than a result may be.
base::Result<std::string> read_unshown(const sessions::RunFiles& files,
                                       const sessions::RunState& state, const Unshown& unshown);

// Returns a table {"columns": [{"name"}], "rows": [[…]]} as CSV; kInvalid where it is none.
base::Result<std::string> csv_of_table(const std::string& table);

}  // namespace tools::cli
