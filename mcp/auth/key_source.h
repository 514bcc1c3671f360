// The keys of an authorization server: read when they are needed, kept for a while, read again when
// a token names one that is not known, as after a rotation; never more often than the bounds say.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/auth/jwt.h"
#include "mcp/auth/public_key.h"
#include "mcp/auth/refusal.h"

namespace mcp::auth {

inline constexpr std::size_t kKeySetBytesMax = 256 * 1024;
inline constexpr std::size_t kKeysMax = 64;
inline constexpr std::chrono::seconds kKeysFreshFor{3600};      // then read again, used meanwhile
inline constexpr std::chrono::seconds kKeysGoodFor{24 * 3600};  // then used no more
inline constexpr std::chrono::seconds kFetchEvery{30};          // at most
inline constexpr std::chrono::seconds kFirstFetchEvery{5};      // while there are none at all

// Returns the usable keys of a JSON Web Key Set (RFC 7517 section 5); others in it are passed over.
std::variant<std::vector<PublicKey>, Refusal> read_key_set(std::string_view text);

class KeySource {
 public:
  // Returns the text of a key set, or why there is none; it is called by one thread at a time, and
  // may take seconds.
  using Fetch = std::function<std::variant<std::string, Refusal>()>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  using FaultHook = std::function<void(const std::string& what)>;

  KeySource(Fetch fetch, FaultHook on_fault, Clock clock = std::chrono::steady_clock::now);

  // Returns the keys that can have signed the token: of its algorithm, with its key id; for a token
  // without one the only key of the algorithm. Nothing when the issuer's keys cannot be had. It may
  // be called from any thread.
  std::optional<std::vector<PublicKey>> keys_for(const Jwt& jwt);

 private:
  using Keys = std::vector<PublicKey>;
  struct Kept {
    std::shared_ptr<const Keys> keys;  // null: none
    std::chrono::steady_clock::time_point read_at;
  };

  [[nodiscard]] Kept kept();
  void fetch_unless_just_done();

  const Fetch fetch_;
  const FaultHook on_fault_;
  const Clock clock_;
  std::mutex fetching_;                                            // held while fetch_ runs
  std::optional<std::chrono::steady_clock::time_point> tried_at_;  // guarded by fetching_
  std::mutex mutex_;                                               // guards kept_
  Kept kept_;
};

}  // namespace mcp::auth
