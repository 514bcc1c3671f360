#include "mcp/request_states.h"

#include <openssl/rand.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"

namespace mcp {

using nlohmann::json;
using Clock = std::chrono::system_clock;

namespace {

constexpr std::size_t kSealedBytesMax = 1U << 20;

void check(bool good) {
  if (!good) throw std::runtime_error("OpenSSL failed to seal");
}

// Returns what the seal is bound to: the principal, the method, and a digest of `params` without
// _meta and what belongs to a round.
std::string binding(const std::string& principal_id, const std::string& method, json params) {
  for (const char* name : {"_meta", "inputResponses", "requestState"}) params.erase(name);
  const auto sum = base::sha256(base::print_json(params));
  check(sum.ok());
  const std::vector<unsigned char> bytes(sum.value().begin(), sum.value().end());
  return base::print_json(json::array({principal_id, method, bytes}));
}

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

std::optional<StateKey> parse_state_key(std::string_view digits) {
  StateKey key{};
  if (digits.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const auto byte = base::number_of<unsigned char>(digits.substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    key[i] = *byte;
  }
  return key;
}

RequestStates::RequestStates(StateKeys keys) : keys_(std::move(keys)) {
  check(RAND_bytes(own_key_.data(), static_cast<int>(own_key_.size())) == 1);
}

std::vector<StateKey> RequestStates::keys() const {
  std::vector<StateKey> keys;
  if (keys_) keys = keys_();
  // Last, so that what was sealed while there were no others is opened too.
  keys.push_back(own_key_);
  return keys;
}

std::string RequestStates::seal(const json& state, const std::string& principal_id,
                                const std::string& method, const json& params) const {
  const std::int64_t end = seconds_now() + std::chrono::seconds(kRequestStateLife).count();
  const auto sealed = base::seal(keys().front(), base::print_json(json::array({end, state})),
                                 binding(principal_id, method, params));
  check(sealed.ok());
  return base::to_base64(sealed.value());
}

std::optional<json> RequestStates::open(const std::string& sealed, const std::string& principal_id,
                                        const std::string& method, const json& params) const {
  if (sealed.size() > kSealedBytesMax) return std::nullopt;
  const auto bytes = base::from_base64(sealed);
  if (!bytes) return std::nullopt;
  const std::string bound = binding(principal_id, method, params);
  std::optional<std::string> plain;
  for (const StateKey& key : keys()) {
    if (auto opened = base::unseal(key, *bytes, bound); opened.ok()) {
      plain = std::move(opened).value();
      break;
    }
  }
  if (!plain) return std::nullopt;
  const json value = json::parse(*plain);  // ours: the seal held
  if (value.at(0).get<std::int64_t>() < seconds_now()) return std::nullopt;
  return value.at(1);
}

}  // namespace mcp
