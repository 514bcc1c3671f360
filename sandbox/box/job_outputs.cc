#include "sandbox/box/job_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/shortened_text.h"
#include "sandbox/output.h"
#include "sandbox/session_parts.h"

namespace sandbox::box {

using nlohmann::json;

namespace {

constexpr std::size_t kOutputsMax = 100;
constexpr std::size_t kOutputsBytesMax = 2U << 20;
constexpr std::size_t kOutputsValuesMax = 100'000;
// From here on a result has no room for all outputs of a run, so what is left out needs a file;
// what is tiny is in record.json, too.
constexpr std::size_t kFilelessBytes = 12'000;
constexpr std::size_t kTinyBytes = 500;
constexpr std::size_t kChartBytesMax = 60'000;
constexpr std::int64_t kDroppedPart = -1;
// A file that is dropped makes room again, but the host has had the work: a run may write only this
// many times what it may keep.
constexpr std::int64_t kWrittenTimes = 4;

// Small values cost far more in memory than in print. Depth is bounded by the parser.
std::size_t count_values(const json& value) {
  std::size_t count = 1;
  if (value.is_structured()) {
    for (const json& member : value) count += count_values(member);
  }
  return count;
}

const Format* find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

std::string name_of_next(const Job& job, const char* extension) {
  return std::to_string(job.run.outputs.size() + 1) + extension;
}

// Adds bytes to a file of the run as long as all of them together have room.
bool append(Job& job, const std::string& name, std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (job.files_bytes + size > job.files_bytes_max ||
      job.files_written + size > job.files_bytes_max * kWrittenTimes) {
    return false;
  }
  job.files_written += size;
  const auto file = base::open_file(job.directory.get(), name,
                                    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (!file.ok()) return false;
  if (!base::write_all(file.value().get(), bytes).ok()) {
    (void)::unlinkat(job.directory.get(), name.c_str(), 0);  // half of it says less than nothing
    return false;
  }
  job.files_bytes += size;
  return true;
}

void remove_part(Job& job, const Format& format, std::int64_t bytes) {
  (void)::unlinkat(job.directory.get(), name_of_next(job, format.extension).c_str(), 0);
  job.files_bytes -= bytes;
}

std::string path_in_box(const Job& job, const std::string& name) {
  return run_file(job.run.run_id, name);
}

std::string printed(const json& value) {
  return value.is_string() ? value.get<std::string>() : base::print_json(value);
}

// Makes it as small as a result can show it; false when it cannot. `total_bytes` is what there was
// before the runner kept a part of it.
bool shorten(json& value, const Format& format, std::size_t size, std::size_t total_bytes) {
  if (std::string_view(format.name) == "chart") {
    for (std::size_t points = kSeriesPointsMax; points >= 4; points /= 2) {
      sample_chart(value, points);
      if (base::print_json(value).size() <= kChartBytesMax) return true;
    }
    return false;
  }
  if (size <= kFormatCharactersMax) return true;
  if (!format.is_prose || !value.is_string()) return false;
  value =
      base::shortened(value.get_ref<const std::string&>(), kFormatCharactersMax, "", total_bytes);
  return true;
}

// Puts what is too large for the record into a file. False when that has no room either.
bool keep_whole(Job& job, json& output, const Format& format) {
  const auto member = output.find(format.name);
  if (member == output.end()) return true;
  const std::string whole = printed(*member);
  json shown = *member;
  const json& files = output["files"];
  const auto part = files.find(format.name);
  const auto total_bytes = part == files.end() ? 0 : base::integer_or(*part, "total_bytes", 0);
  const bool fits = shorten(shown, format, whole.size(), static_cast<std::size_t>(total_bytes));
  const bool is_whole = fits && shown == *member;
  // A page is to be opened, not read.
  const bool is_page_itself = format.name == std::string_view("html") && is_page(output);
  if (!is_whole || (whole.size() > kTinyBytes &&
                    (is_page_itself || job.outputs_bytes + whole.size() > kFilelessBytes))) {
    const std::string name = name_of_next(job, format.extension);
    if (!job.parts.contains(format.name) && append(job, name, whole)) {
      output["files"][format.name] = {{"file", path_in_box(job, name)},
                                      {"total_bytes", whole.size()}};
    } else if (!is_whole && !output["files"].contains(format.name)) {
      output.erase(format.name);
      return false;
    }
  }
  if (fits) {
    output[format.name] = std::move(shown);
  } else {
    output.erase(format.name);
  }
  return true;
}

bool keep_picture(Job& job, json& output, const std::string& blob) {
  if (!blob.starts_with("\x89PNG\r\n\x1a\n")) return true;
  const std::string name = name_of_next(job, ".png");
  if (!append(job, name, blob)) return false;
  ++job.run.image_count;
  output["image_path"] = path_in_box(job, name);
  return true;
}

// Only the forms that are there, in the output or in a file.
void list_formats(json& output) {
  auto& formats = output["formats"];
  for (const Format& format : kFormats) {
    if (output.contains(format.name) || output["files"].contains(format.name)) continue;
    formats.erase(std::remove(formats.begin(), formats.end(), format.name), formats.end());
  }
  if (output.contains("image_path")) return;
  formats.erase(std::remove(formats.begin(), formats.end(), "png"), formats.end());
}

// Removes the files of an output that is not taken after all.
void drop_files(Job& job, const json& output, std::size_t picture_bytes) {
  job.parts.clear();
  if (output.contains("files")) {
    for (const Format& format : kFormats) {
      const auto file = output["files"].find(format.name);
      if (file != output["files"].end()) {
        remove_part(job, format, base::integer_or(*file, "total_bytes", 0));
      }
    }
  }
  if (!output.contains("image_path")) return;
  (void)::unlinkat(job.directory.get(), name_of_next(job, ".png").c_str(), 0);
  job.files_bytes -= static_cast<std::int64_t>(picture_bytes);
  --job.run.image_count;
}

}  // namespace

bool add_part(Job& job, const json& message, const std::string& blob) {
  const Format* format = find_format(base::string_or(message, "format"));
  if (format == nullptr || job.run.outputs.size() >= kOutputsMax) return false;
  std::int64_t& bytes = job.parts[format->name];
  if (bytes == kDroppedPart) return false;
  if (append(job, name_of_next(job, format->extension), blob)) {
    bytes += static_cast<std::int64_t>(blob.size());
    return true;
  }
  remove_part(job, *format, bytes);
  bytes = kDroppedPart;
  return false;
}

void drop_parts(Job& job) {
  for (const auto& [name, bytes] : std::exchange(job.parts, {})) {
    if (bytes != kDroppedPart) remove_part(job, *find_format(name), bytes);
  }
}

bool add_output(Job& job, const json& message, const std::string& blob) {
  const auto raw = message.find("output");
  if (raw == message.end() || !raw->is_object()) return true;
  if (job.run.outputs.size() >= kOutputsMax) return false;
  json output = checked_output(*raw);
  // These members name files that are there, which only we know.
  output.erase("image_path");
  output["files"] = json::object();
  for (const auto& [name, bytes] : job.parts) {
    if (bytes == kDroppedPart) continue;
    const std::string file = name_of_next(job, find_format(name)->extension);
    output["files"][name] = {{"file", path_in_box(job, file)}, {"total_bytes", bytes}};
  }
  bool whole = keep_picture(job, output, blob);
  for (const Format& format : kFormats) whole = keep_whole(job, output, format) && whole;
  list_formats(output);
  if (output["files"].empty()) output.erase("files");
  const std::size_t values = count_values(output);
  const std::size_t size = base::print_json(output).size();
  if (job.outputs_values + values > kOutputsValuesMax ||
      job.outputs_bytes + size > kOutputsBytesMax) {
    drop_files(job, output, blob.size());
    return false;
  }
  job.outputs_bytes += size;
  job.outputs_values += values;
  job.parts.clear();
  job.run.outputs.push_back(std::move(output));
  return whole;
}

}  // namespace sandbox::box
