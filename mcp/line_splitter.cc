#include "mcp/line_splitter.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace mcp {
namespace {

constexpr std::size_t kKeptCapacity = 1U << 20;  // the buffer's, between lines

}  // namespace

void LineSplitter::start_line() {
  complete_ = false;
  skipping_ = false;
  scan_ = JsonScan();
  line_.clear();
  // One large message must not cost memory for ever.
  if (line_.capacity() > kKeptCapacity) line_ = std::string();
}

bool LineSplitter::feed(std::string_view& bytes) {
  if (complete_) start_line();
  const std::size_t end = bytes.find('\n');
  add(bytes.substr(0, end));
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  complete_ = end != std::string_view::npos;
  return complete_;
}

bool LineSplitter::finish() {
  if (complete_) start_line();
  complete_ = skipping_ || !line_.empty();
  return complete_;
}

void LineSplitter::add(std::string_view piece) {
  if (!skipping_ && line_.size() + piece.size() > bytes_max_) {
    skipping_ = true;
    scan_.feed(line_);
    line_ = std::string();
  }
  if (skipping_) {
    scan_.feed(piece);
  } else {
    line_ += piece;
  }
}

nlohmann::json LineSplitter::id_of_skipped() const { return scan_.id(); }

std::string_view LineSplitter::line() const {
  std::string_view text = line_;
  const std::size_t end = text.find_last_not_of(" \t\r");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace mcp
