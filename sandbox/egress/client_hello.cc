#include "sandbox/egress/client_hello.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>

namespace sandbox::egress {
namespace {

constexpr unsigned kEncryptedClientHello = 0xFE0D;

// RFC 6066 3: a list of one name, with two lengths and a kind before it.
std::string name_in(const unsigned char* bytes, std::size_t size) {
  constexpr std::size_t kHead = 5;
  if (size < kHead || bytes[2] != TLSEXT_NAMETYPE_host_name) return "";
  const std::size_t list = static_cast<std::size_t>(bytes[0]) << 8 | bytes[1];
  const std::size_t name = static_cast<std::size_t>(bytes[3]) << 8 | bytes[4];
  if (list != size - 2 || name != size - kHead) return "";
  return {reinterpret_cast<const char*>(bytes) + kHead, name};
}

}  // namespace

void ClientHello::Free::operator()(SSL* ssl) const { ::SSL_free(ssl); }

int ClientHello::read(SSL* ssl, int*, void*) {
  auto* const hello = static_cast<ClientHello*>(SSL_get_app_data(ssl));
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (::SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) == 1) {
    hello->server_name_ = name_in(bytes, size);
  }
  hello->has_hidden_name_ =
      ::SSL_client_hello_get0_ext(ssl, kEncryptedClientHello, &bytes, &size) == 1;
  hello->is_read_ = true;
  return SSL_CLIENT_HELLO_RETRY;  // this is as far as it goes
}

ClientHello::ClientHello() {
  static SSL_CTX* const context = [] {
    SSL_CTX* const made = ::SSL_CTX_new(::TLS_server_method());
    if (made == nullptr) return static_cast<SSL_CTX*>(nullptr);
    ::SSL_CTX_set_client_hello_cb(made, &ClientHello::read, nullptr);
    // OpenSSL says nothing of an extension that it has not been told of.
    if (::SSL_CTX_add_custom_ext(made, kEncryptedClientHello, SSL_EXT_CLIENT_HELLO, nullptr,
                                 nullptr, nullptr, nullptr, nullptr) == 1) {
      return made;
    }
    ::SSL_CTX_free(made);
    return static_cast<SSL_CTX*>(nullptr);
  }();
  if (context != nullptr) ssl_.reset(::SSL_new(context));
  if (!ssl_) throw std::bad_alloc();
  SSL_set_app_data(ssl_.get(), this);
  ::SSL_set_bio(ssl_.get(), ::BIO_new(::BIO_s_mem()), ::BIO_new(::BIO_s_mem()));
}

ClientHello::~ClientHello() = default;

ClientHello::State ClientHello::feed(std::string_view bytes) {
  (void)::BIO_write(::SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  const int result = ::SSL_accept(ssl_.get());
  if (is_read_) return State::kWhole;
  const bool waits = ::SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
  ::ERR_clear_error();
  return waits ? State::kIncomplete : State::kNone;
}

}  // namespace sandbox::egress
