// The requests of one connection that are being worked on. Safe from many threads.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace mcp {

// Every request is opened once and closed once, by whoever answers it. 1 and "1" are different ids.
class PendingRequests {
 public:
  // Returns the token of its cancellation. Nothing when a request of this id is open already.
  std::optional<std::stop_token> open(const nlohmann::json& id);

  // Returns true when the answer is to be sent; false when the request was cancelled or is not
  // open.
  bool close(const nlohmann::json& id);

  // Requests the stop; callbacks of the token run on this thread. False when no such request is
  // open (any more).
  bool cancel(const nlohmann::json& id);
  void cancel_all();

  [[nodiscard]] bool is_open(const nlohmann::json& id) const;
  [[nodiscard]] std::size_t count() const;

 private:
  struct Entry {
    std::stop_source stop;
    bool cancelled = false;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by the JSON text of the id
};

}  // namespace mcp
