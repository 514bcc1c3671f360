// State that travels through the client between the rounds of one request: sealed with AES-256-GCM.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/sealing.h"

namespace mcp {

inline constexpr std::chrono::minutes kRequestStateLife{60};

using StateKey = base::SealingKey;
// Returns the key to seal with, then those that still open what they have sealed. It is called for
// each state, from many threads. None: this process's own is used, which no other process knows.
using StateKeys = std::function<std::vector<StateKey>()>;

// Returns nothing for what is not 64 hexadecimal digits.
std::optional<StateKey> parse_state_key(std::string_view digits);

// It is safe from many threads.
class RequestStates {
 public:
  // Throws std::runtime_error when the system gives no random bytes.
  explicit RequestStates(StateKeys keys = nullptr);

  // Seals for one principal and request only: `params` is the request's, without its _meta and what
  // belongs to a round.
  [[nodiscard]] std::string seal(const nlohmann::json& state, const std::string& principal_id,
                                 const std::string& method, const nlohmann::json& params) const;

  // Returns nothing for what was not sealed here, was changed, is for another principal or request,
  // or is too old.
  [[nodiscard]] std::optional<nlohmann::json> open(const std::string& sealed,
                                                   const std::string& principal_id,
                                                   const std::string& method,
                                                   const nlohmann::json& params) const;

 private:
  [[nodiscard]] std::vector<StateKey> keys() const;

  const StateKeys keys_;
  StateKey own_key_{};
};

}  // namespace mcp
