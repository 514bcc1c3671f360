#include "mcp/wire/revision.h"

namespace mcp::wire {
namespace {

// A function, not an array: the formats live in other files and may be initialised later.
std::vector<const Format*> all_formats() {
  return {&k2024_11_05, &k2025_03_26, &k2025_06_18, &k2025_11_25, &k2026_07_28};
}

}  // namespace

const Format& format_of(Revision revision) {
  for (const Format* format : all_formats()) {
    if (format->revision == revision) return *format;
  }
  return k2025_11_25;
}

const Format* find_format(std::string_view name) {
  for (const Format* format : all_formats()) {
    if (name == format->name) return format;
  }
  return nullptr;
}

const Format& negotiate(std::string_view name) {
  const Format* wanted = find_format(name);
  return wanted != nullptr && !wanted->modern ? *wanted : k2025_11_25;
}

std::vector<const Format*> modern_formats() {
  std::vector<const Format*> modern;
  for (const Format* format : all_formats()) {
    if (format->modern) modern.push_back(format);
  }
  return modern;
}

}  // namespace mcp::wire
