// Cuts a stream of bytes into lines of bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "mcp/json_scan.h"

namespace mcp {

// A line that is too long is skipped as it comes, not kept; only its JSON-RPC id is looked for.
class LineSplitter {
 public:
  // Lengths count the bytes before the newline.
  explicit LineSplitter(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Takes from the front of `bytes` up to the end of one line. True when a line, or the skipping of
  // one, is complete: then take() or skipped() is to be asked before the next call.
  bool feed(std::string_view& bytes);

  // The input has ended: true when there is a last line without a newline.
  bool finish();

  // Returns the complete line, without its end; empty for a blank or skipped one. It is valid until
  // feed().
  [[nodiscard]] std::string_view line() const;
  [[nodiscard]] bool was_too_long() const { return skipping_; }
  // Returns the id of the message in the line that was too long; null when it has none.
  [[nodiscard]] nlohmann::json id_of_skipped() const;

 private:
  void add(std::string_view piece);
  void start_line();

  const std::size_t bytes_max_;
  std::string line_;
  JsonScan scan_;
  bool skipping_ = false;
  bool complete_ = false;
};

}  // namespace mcp
