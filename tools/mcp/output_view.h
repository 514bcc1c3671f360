// The outputs of a run as a result shows them: what fits, and where the rest is.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tools {

// Returns whether its text has rows and columns, as those of pandas and SQL.
bool is_table(const nlohmann::json& output);

// Returns whether data of so many bytes is left to its file without a word in the text: the text
// that the output, one of outputs_within(), has of it is a table, and whole.
bool is_said_by_text(const nlohmann::json& output, std::size_t data_bytes);

// A RecordFile is the file that has all of the outputs, and says whether it is there yet: a run
// that goes on has none.
struct RecordFile {
  std::string path;
  bool is_written = true;
};

// Returns how many characters `value` has, printed as JSON.
std::size_t json_characters(const nlohmann::json& value);

// Returns `outputs` (as in sandbox/output.h), in order, with at most `room` characters together.
// All that is cut or left out of one is named in its `truncated`: {<format>: {total_bytes, file}};
// the last outputs are left out when there are too many even for that. `record` has all of them.
nlohmann::json outputs_within(const std::vector<nlohmann::json>& outputs, std::size_t room,
                              const RecordFile& record);

}  // namespace tools
