// The shape of a rich result: what interpreters send, boxes reply and clients see.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sandbox {

// A Format says how an output may show its value, and how a file with the whole of that form ends.
struct Format {
  const char* name;
  const char* extension;
  bool is_prose;  // half of it still says something
};
inline constexpr Format kFormats[] = {
    {"text", ".txt", true},   {"markdown", ".md", true},       {"latex", ".tex", false},
    {"html", ".html", false}, {"json", ".json", false},        {"svg", ".svg", false},
    {"csv", ".csv", false},   {"chart", ".chart.json", false},
};

// A result has at most this much of one form of one output; more only fills a model's context.
inline constexpr std::size_t kFormatCharactersMax = 20'000;
inline constexpr std::size_t kSeriesPointsMax = 1'000;

// This is the note of a run that has shown more.
inline constexpr const char* kOutputsDropped =
    "more or larger outputs than a run may keep: what is missing was dropped";

// Returns only the members that the contract names, each of the type it names; `raw` may be
// anything. `files` are the forms that have a file: {<format>: {total_bytes, file}}.
nlohmann::json checked_output(const nlohmann::json& raw);

// Returns whether an output is HTML and nothing that says the same in words, numbers or a picture.
bool is_page(const nlohmann::json& output);

// Returns whether a text is only what an object says of itself that has no words of its own, such
// as `<Map object at 0x…>`.
bool is_bare(const nlohmann::json& text);

// Returns the file of the picture that an output of this run names, <number>.png in the run's
// folder; empty for none. `output` may be anything: boxes are not believed.
std::string picture_name(const nlohmann::json& output, const std::string& run_id);

// Returns the file that has a form of the output whole, in the run's folder too; empty where the
// output has all of it. `output` may be anything here as well.
std::string whole_name(const nlohmann::json& output, const std::string& run_id,
                       std::string_view format);

// Thins every series of a chart that has more than `points_max` points, and every list of other
// elements, evenly: the first, the last and the extremes stay. Marks it `sampled` and is true when
// something went. `chart` may be anything.
bool sample_chart(nlohmann::json& chart, std::size_t points_max);

}  // namespace sandbox
