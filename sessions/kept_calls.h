// Texts that an API keeps of its runs, beside the session's files and out of the box, until the
// session is deleted. Safe from any thread.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace sessions {

class KeptCalls {
 public:
  explicit KeptCalls(std::string state_directory) : state_directory_(std::move(state_directory)) {}

  [[nodiscard]] base::Status keep(const std::string& session_id, const std::string& run_id,
                                  const std::string& text) const;
  // Returns what was kept of the run. kNotFound where nothing was.
  [[nodiscard]] base::Result<std::string> find(const std::string& session_id,
                                               const std::string& run_id) const;

 private:
  const std::string state_directory_;
};

}  // namespace sessions
