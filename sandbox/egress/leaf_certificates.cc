#include "sandbox/egress/leaf_certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <utility>

namespace sandbox::egress {

using base::Error;

namespace {

constexpr std::size_t kHostsMax = 512;
constexpr std::chrono::hours kLeafGoodFor{24 * 7};
constexpr std::chrono::hours kMadeAnewAfter{24};
constexpr long kClockSkewSeconds = 24 * 3600;

Error failed(const std::string& what) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return base::error(Error::Kind::kInvalid, what + ": " + text);
}

bool add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool set_serial_number(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
  BIGNUM* const number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool is_set = number != nullptr &&
                      BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return is_set;
}

bool name_it(X509* certificate, const std::string& host) {
  // The common name has room for 64 bytes; whoever reads it today reads the extension instead.
  const std::string shown = host.size() > 64 ? "hutch" : host;
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(shown.c_str()), -1, -1,
                                    0) == 1;
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  // The first of ours that is offered: within a machine HTTP/2 is no gain, and is for those who
  // speak nothing else.
  static constexpr unsigned char kOurs[] = "\x08http/1.1\x02h2";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kOurs, sizeof kOurs - 1, offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

void LeafCertificates::Free::operator()(X509* certificate) const { X509_free(certificate); }
void LeafCertificates::Free::operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }

LeafCertificates::LeafCertificates(Key authority_key, Certificate authority, Key key)
    : authority_key_(std::move(authority_key)),
      authority_(std::move(authority)),
      key_(std::move(key)) {}

base::Result<std::shared_ptr<LeafCertificates>> LeafCertificates::open(
    const std::string& authority) {
  const auto free_bio = [](BIO* bio) { BIO_free(bio); };
  const std::unique_ptr<BIO, decltype(free_bio)> text(
      BIO_new_mem_buf(authority.data(), static_cast<int>(authority.size())), free_bio);
  Key authority_key(PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
  if (!authority_key) return failed("read the key of the certificate authority");
  Certificate certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  if (!certificate) return failed("read the certificate of the certificate authority");
  Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("make a key");
  return std::shared_ptr<LeafCertificates>(
      new LeafCertificates(std::move(authority_key), std::move(certificate), std::move(key)));
}

LeafCertificates::Certificate LeafCertificates::sign(const std::string& host) const {
  Certificate leaf(X509_new());
  const long seconds = std::chrono::seconds(kLeafGoodFor).count();
  const bool is_made =
      leaf && X509_set_version(leaf.get(), X509_VERSION_3) == 1 && set_serial_number(leaf.get()) &&
      X509_gmtime_adj(X509_getm_notBefore(leaf.get()), -kClockSkewSeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(leaf.get()), seconds) != nullptr &&
      X509_set_pubkey(leaf.get(), key_.get()) == 1 && name_it(leaf.get(), host) &&
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(authority_.get())) == 1 &&
      add_extension(leaf.get(), authority_.get(), NID_subject_alt_name, "DNS:" + host) &&
      add_extension(leaf.get(), authority_.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(leaf.get(), authority_.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(leaf.get(), authority_.get(), NID_ext_key_usage, "serverAuth") &&
      add_extension(leaf.get(), authority_.get(), NID_authority_key_identifier, "keyid:always") &&
      X509_sign(leaf.get(), authority_key_.get(), EVP_sha256()) > 0;
  if (!is_made) leaf.reset();
  return leaf;
}

base::Result<std::shared_ptr<asio::ssl::context>> LeafCertificates::of(const std::string& host) {
  const auto now = Clock::now();
  if (const auto known = made_.find(host); known != made_.end() && now < known->second.until) {
    return known->second.context;
  }
  const Certificate leaf = sign(host);
  if (!leaf) return failed("make a certificate for " + host);
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* const ssl = context->native_handle();
  if (SSL_CTX_use_certificate(ssl, leaf.get()) != 1 ||
      SSL_CTX_use_PrivateKey(ssl, key_.get()) != 1 ||
      SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1) {
    return failed("use the certificate for " + host);
  }
  // Connections are as long as programs make them, and are counted; nothing is kept between them.
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
  (void)SSL_CTX_set_num_tickets(ssl, 0);
  SSL_CTX_set_alpn_select_cb(ssl, &choose_protocol, nullptr);
  if (made_.size() >= kHostsMax) made_.clear();
  made_[host] = {context, now + kMadeAnewAfter};
  return context;
}

}  // namespace sandbox::egress
