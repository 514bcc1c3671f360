#include "mcp/request_state.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"

namespace mcp {

using nlohmann::json;
using Clock = std::chrono::system_clock;

namespace {

constexpr int kNonceBytes = 12;
constexpr int kTagBytes = 16;
constexpr std::size_t kSealedBytesMax = 1U << 20;

using Bytes = std::vector<unsigned char>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

void check(bool good) {
  if (!good) throw std::runtime_error("OpenSSL failed to seal");
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bytes digest(const std::string& text) {
  const auto sum = base::sha256(text);
  check(sum.ok());
  return {sum.value().begin(), sum.value().end()};
}

// Returns what the seal is bound to: the principal, the method, and a digest of `params` without
// _meta and what belongs to a round.
std::string binding(const std::string& principal_id, const std::string& method, json params) {
  for (const char* name : {"_meta", "inputResponses", "requestState"}) params.erase(name);
  const auto replace = json::error_handler_t::replace;
  const Bytes sum = digest(params.dump(-1, ' ', false, replace));
  return json::array({principal_id, method, sum}).dump(-1, ' ', false, replace);
}

// The text under the seal; nothing when another key has sealed it, or it was changed.
std::optional<std::string> unseal(const std::string& sealed, const std::string& bound,
                                  const StateKey& key) {
  const std::size_t length = sealed.size() - kNonceBytes - kTagBytes;
  const unsigned char* nonce = bytes_of(sealed);
  const unsigned char* text = nonce + kNonceBytes;
  Bytes tag(text + length, text + length + kTagBytes);
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  std::string plain(length, '\0');
  auto* out = reinterpret_cast<unsigned char*>(plain.data());
  int size = 0;
  check(cipher != nullptr);
  check(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), nonce) == 1);
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1);
  check(EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound),
                          static_cast<int>(bound.size())) == 1);
  check(EVP_DecryptUpdate(cipher.get(), out, &size, text, static_cast<int>(length)) == 1);
  if (EVP_DecryptFinal_ex(cipher.get(), out + size, &size) != 1) return std::nullopt;
  return plain;
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
  const std::string plain =
      json::array({end, state}).dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string bound = binding(principal_id, method, params);
  std::string sealed(kNonceBytes + plain.size() + kTagBytes, '\0');
  auto* nonce = reinterpret_cast<unsigned char*>(sealed.data());
  unsigned char* text = nonce + kNonceBytes;
  check(RAND_bytes(nonce, kNonceBytes) == 1);
  const Cipher cipher(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int size = 0;
  check(cipher != nullptr);
  check(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, keys().front().data(),
                           nonce) == 1);
  check(EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(bound),
                          static_cast<int>(bound.size())) == 1);
  check(EVP_EncryptUpdate(cipher.get(), text, &size, bytes_of(plain),
                          static_cast<int>(plain.size())) == 1);
  check(EVP_EncryptFinal_ex(cipher.get(), text + size, &size) == 1);
  check(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, text + plain.size()) ==
        1);
  return base::to_base64(sealed);
}

std::optional<json> RequestStates::open(const std::string& sealed, const std::string& principal_id,
                                        const std::string& method, const json& params) const {
  if (sealed.size() > kSealedBytesMax) return std::nullopt;
  const auto bytes = base::from_base64(sealed);
  if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return std::nullopt;
  const std::string bound = binding(principal_id, method, params);
  std::optional<std::string> plain;
  for (const StateKey& key : keys()) {
    plain = unseal(*bytes, bound, key);
    if (plain) break;
  }
  if (!plain) return std::nullopt;
  const json value = json::parse(*plain);  // ours: the seal held
  if (value.at(0).get<std::int64_t>() < seconds_now()) return std::nullopt;
  return value.at(1);
}

}  // namespace mcp
