#include "mcp/json_scan.h"

#include <nlohmann/json.hpp>

#include "mcp/message.h"

namespace mcp {
namespace {

constexpr std::size_t kKeyKeptMax = 7;                    // tells "method" from longer names
constexpr std::size_t kIdTextMax = 6 * kIdBytesMax + 64;  // every byte of it as \u00xx

}  // namespace

bool JsonScan::too_many_values() const { return values_ > kJsonValuesMax; }

void JsonScan::feed(std::string_view bytes) {
  for (const char byte : bytes) {
    if (!in_string_) {
      read_structure(byte);
      continue;
    }
    if (in_id_ || depth_ == 1) keep(byte);
    if (escaped_) {
      escaped_ = false;
    } else if (byte == '\\') {
      escaped_ = true;
    } else if (byte == '"') {
      end_string();
    }
  }
}

void JsonScan::read_structure(char byte) {
  switch (byte) {
    case '"':
      in_string_ = true;
      if (depth_ == 1 && !after_colon_) key_.clear();
      if (in_id_) keep(byte);
      return;
    case '{':
    case '[':
      return enter();
    case '}':
    case ']':
      return leave();
    case ',':
      ++values_;
      if (depth_ == 1) end_member();
      return;
    case ':':
      if (depth_ != 1) return;
      after_colon_ = true;
      in_id_ = key_ == "id";
      has_method_ = has_method_ || key_ == "method";
      if (in_id_) id_text_.clear();
      return;
    default:
      if (in_id_) keep(byte);
  }
}

void JsonScan::enter() {
  if (in_id_) keep('{');  // an id with brackets in it parses to none
  ++values_;
  ++depth_;
  too_deep_ = too_deep_ || depth_ > static_cast<std::size_t>(kJsonDepthMax);
}

void JsonScan::leave() {
  if (depth_ == 1) end_member();
  if (depth_ > 0) --depth_;
}

void JsonScan::end_string() {
  in_string_ = false;
  if (depth_ == 1 && !after_colon_ && !key_.empty()) key_.pop_back();  // the closing quote
}

void JsonScan::end_member() {
  after_colon_ = false;
  in_id_ = false;
  key_.clear();
}

void JsonScan::keep(char byte) {
  if (in_id_) {
    if (id_text_.size() < kIdTextMax) id_text_ += byte;
  } else if (!after_colon_ && key_.size() < kKeyKeptMax + 1) {
    key_ += byte;
  }
}

nlohmann::json JsonScan::id() const {
  // A value that goes on may be half a number.
  if (in_id_ || !has_method_) return nullptr;
  auto value = nlohmann::json::parse(id_text_, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded() || !is_id(value)) return nullptr;
  return value;
}

}  // namespace mcp
