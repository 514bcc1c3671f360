#include "mcp/auth/key_source.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "mcp/message.h"
#include "mcp/worker_pool.h"

namespace mcp::auth {
namespace {

std::vector<PublicKey> fitting(const std::vector<PublicKey>& keys, const Jwt& jwt) {
  std::vector<PublicKey> found;
  for (const PublicKey& key : keys) {
    if (key.algorithm() != jwt.algorithm) continue;
    if (jwt.key_id && key.id() != jwt.key_id) continue;
    found.push_back(key);
  }
  // Without an id there must be nothing to choose from.
  if (!jwt.key_id && found.size() > 1) found.clear();
  return found;
}

}  // namespace

std::variant<std::vector<PublicKey>, Refusal> read_key_set(std::string_view text) {
  if (text.size() > kKeySetBytesMax) return Refusal{"the key set is too large"};
  const auto parsed = parse_json(text);
  const auto* set = std::get_if<nlohmann::json>(&parsed);
  if (set == nullptr || !set->is_object() || !set->contains("keys") ||
      !set->at("keys").is_array()) {
    return Refusal{"the key set is no JSON object with an array of keys"};
  }
  if (set->at("keys").size() > kKeysMax) return Refusal{"the key set has too many keys"};
  std::vector<PublicKey> keys;
  for (const auto& jwk : set->at("keys")) {
    if (auto key = PublicKey::from_jwk(jwk)) keys.push_back(std::move(*key));
  }
  if (keys.empty()) return Refusal{"the key set has no key for RS256, ES256 or EdDSA"};
  return keys;
}

KeySource::KeySource(Fetch fetch, FaultHook on_fault, Clock clock)
    : fetch_(std::move(fetch)), on_fault_(std::move(on_fault)), clock_(std::move(clock)) {}

KeySource::Kept KeySource::kept() {
  const std::lock_guard lock(mutex_);
  if (kept_.keys && clock_() - kept_.read_at >= kKeysGoodFor) kept_.keys = nullptr;
  return kept_;
}

void KeySource::fetch_unless_just_done() {
  const auto now = clock_();
  const auto pause = kept().keys ? kFetchEvery : kFirstFetchEvery;
  if (tried_at_ && now - *tried_at_ < pause) return;
  auto text = fetch_();
  // From its end: who has waited for it meanwhile does not begin another.
  tried_at_ = clock_();
  auto keys = std::holds_alternative<std::string>(text)
                  ? read_key_set(std::get<std::string>(text))
                  : std::variant<Keys, Refusal>(std::get<Refusal>(text));
  if (const auto* refusal = std::get_if<Refusal>(&keys)) {
    on_fault_("cannot read the keys of the authorization server: " + refusal->why);
    return;
  }
  const std::lock_guard lock(mutex_);
  kept_ = {std::make_shared<const Keys>(std::get<Keys>(std::move(keys))), now};
}

std::optional<std::vector<PublicKey>> KeySource::keys_for(const Jwt& jwt) {
  const Kept before = kept();
  std::vector<PublicKey> found;
  if (before.keys) found = fitting(*before.keys, jwt);
  if (!found.empty()) {
    if (clock_() - before.read_at < kKeysFreshFor) return found;
    // Old, but good: one request reads them again, the others go on with what there is.
    std::unique_lock one(fetching_, std::try_to_lock);
    if (!one.owns_lock()) return found;
    const WorkerPool::Aside aside;
    fetch_unless_just_done();
    one.unlock();  // before this waits for its turn
  } else {
    const WorkerPool::Aside aside;  // who waits for keys keeps nobody waiting who needs none
    const std::lock_guard one(fetching_);
    fetch_unless_just_done();
  }
  const Kept after = kept();
  if (!after.keys) return std::nullopt;
  return fitting(*after.keys, jwt);
}

}  // namespace mcp::auth
