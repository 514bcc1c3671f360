#include "tools/cli/unshown_results.h"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/output.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"

namespace tools::cli {
namespace {

using base::Error;
using nlohmann::json;

// No runner's JSON has as many.
constexpr base::JsonLimits kTableJson{.events_max = 40'000'000};

// A table that is shown whole has a line for each row, and two above or below them.
bool shows_a_part(const json& output, std::int64_t row_count) {
  const std::string text = base::string_or(output, "text");
  return std::count(text.begin(), text.end(), '\n') < row_count + 2;
}

// As RFC 4180, section 2, with the line ends of the host.
void append_cell(std::string& csv, const json& cell) {
  if (cell.is_null()) return;
  const std::string text = cell.is_string() ? cell.get<std::string>() : cell.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    csv += text;
    return;
  }
  csv += '"';
  for (const char c : text) csv.append(c == '"' ? 2 : 1, c);
  csv += '"';
}

template <typename Cells, typename CellOf>
void append_row(std::string& csv, const Cells& cells, CellOf cell_of) {
  for (auto cell = cells.begin(); cell != cells.end(); ++cell) {
    if (cell != cells.begin()) csv += ',';
    append_cell(csv, cell_of(*cell));
  }
  csv += '\n';
}

}  // namespace

std::vector<Unshown> find_unshown(const sandbox::Run& run) {
  using Form = Unshown::Form;
  std::vector<Unshown> found;
  int number = 0;
  for (const json& output : run.outputs) {
    ++number;
    if (const auto file = sandbox::picture_name(output, run.run_id); !file.empty()) {
      found.push_back({file, Form::kPicture, file, ""});
    }
    const std::string name = std::to_string(number) + ".csv";
    if (const auto file = sandbox::whole_name(output, run.run_id, "csv"); !file.empty()) {
      found.push_back({name, Form::kCsv, file, ""});
    } else if (auto csv = base::string_or(output, "csv"); !csv.empty()) {
      found.push_back({name, Form::kCsv, "", std::move(csv)});
    } else if (const auto table = output.find("json");
               table != output.end() && table->is_object() && table->contains("row_count") &&
               (*table)["row_count"].is_number_integer() &&
               shows_a_part(output, (*table)["row_count"].get<std::int64_t>())) {
      const auto whole = sandbox::whole_name(output, run.run_id, "json");
      found.push_back({name, Form::kTable, whole, whole.empty() ? table->dump() : ""});
    }
  }
  return found;
}

base::Result<std::string> read_unshown(const sessions::RunFiles& files,
                                       const sessions::RunState& state, const Unshown& unshown) {
  std::string bytes = unshown.inline_text;
  if (!unshown.whole.empty()) {
    bytes =
        TRY(files.read(state.session_id, state.run.run_id, unshown.whole, 0, kSavedBytesMax + 1));
  }
  if (bytes.size() > kSavedBytesMax) {
    return base::error(Error::Kind::kLimit, unshown.name + " is too large for a result of a run");
  }
  return unshown.form == Unshown::Form::kTable ? csv_of_table(bytes) : bytes;
}

base::Result<std::string> csv_of_table(const std::string& table) {
  const json value = TRY(base::parse_json(table, kTableJson));
  const auto none = base::invalid("it is no table of columns and rows");
  if (!value.is_object() || !value.value("columns", json()).is_array() ||
      !value.value("rows", json()).is_array()) {
    return none;
  }
  std::string csv;
  append_row(csv, value["columns"], [](const json& column) {
    return column.is_object() ? json(base::string_or(column, "name")) : json();
  });
  for (const json& row : value["rows"]) {
    if (!row.is_array()) return none;
    append_row(csv, row, [](const json& cell) { return cell; });
  }
  return csv;
}

}  // namespace tools::cli
