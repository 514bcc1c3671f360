// Reads what a run has left beside its session: the streams it has printed, and its pictures.
// Safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace sessions {

class RunFiles {
 public:
  explicit RunFiles(std::string state_directory) : state_directory_(std::move(state_directory)) {}

  // Returns at most `size` bytes of "stdout", "stderr" or "<n>.png", from `offset` on. A stream
  // without a byte is empty; kNotFound for any other file that is not there.
  [[nodiscard]] base::Result<std::string> read(const std::string& session_id,
                                               const std::string& run_id, const std::string& name,
                                               std::int64_t offset, std::size_t size) const;
  // Returns bytes of a stream from the first one at `offset` or behind it that is kept, which
  // `offset` is then.
  [[nodiscard]] base::Result<std::string> read_stream(const std::string& session_id,
                                                      const std::string& run_id,
                                                      const std::string& name, std::int64_t& offset,
                                                      std::size_t size) const;

 private:
  // Opens a stream of the run. Returns an invalid descriptor while the stream has no byte yet.
  [[nodiscard]] base::Result<base::UniqueFd> open(const std::string& session_id,
                                                  const std::string& run_id,
                                                  const std::string& name) const;

  const std::string state_directory_;
};

}  // namespace sessions
