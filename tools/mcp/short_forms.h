// Shorter ways to write what a run shows, in which nothing is lost that its reader needs.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace tools {

// Returns a table without the blanks that align its columns: a model does not see columns, and pays
// for them. One whose cells cannot be told apart without is returned as it is, and so is one that
// is shown in part, with a line that says so.
std::string narrow_table(std::string_view text);

// Returns whether it is a table, as pandas and SQL write them, of which no row, column or part of a
// cell is left out.
bool is_whole_table(std::string_view text);

// Returns a traceback of Python without what says nothing: its heading, the marks below the lines
// of frames that have only called the one that failed, and that a cell is at the top level. From
// where `said`, its exception, stands last it is as it was: a message may look like a frame.
std::string short_traceback(std::string_view traceback, std::string_view said);

// Returns a chart whose elements are rows with one list of names, where all have the same members.
nlohmann::json with_rows_of_elements(nlohmann::json chart);

}  // namespace tools
