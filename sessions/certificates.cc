#include "sessions/certificates.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/private_file.h"

namespace sessions {

using base::Error;

namespace {

constexpr const char* kRootsOfDistributions[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"};
constexpr const char* kCertificateBegins = "-----BEGIN CERTIFICATE-----";
constexpr long kGoodForSeconds = 10L * 365 * 24 * 3600;
constexpr long kClockSkewSeconds = 24 * 3600;

template <auto kFree>
struct Freeing {
  void operator()(auto* thing) const { kFree(thing); }
};
using Key = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freeing<X509_free>>;
using Text = std::unique_ptr<BIO, Freeing<BIO_free>>;

bool add_extension(X509* certificate, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

Certificate self_signed(EVP_PKEY* key) {
  Certificate made(X509_new());
  unsigned char serial[8];
  if (!made || RAND_bytes(serial, sizeof serial) != 1) return nullptr;
  std::uint64_t number = 0;
  for (const unsigned char byte : serial) number = number << 8 | byte;
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* const shown = reinterpret_cast<const unsigned char*>("hutch, for its own sessions");
  const bool is_made =
      X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), number >> 1 | 1) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -kClockSkewSeconds) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(made.get()), kGoodForSeconds) != nullptr &&
      X509_set_pubkey(made.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, shown, -1, -1, 0) == 1 &&
      X509_set_issuer_name(made.get(), name) == 1 &&
      add_extension(made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(made.get(), NID_key_usage, "critical,keyCertSign") &&
      add_extension(made.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(made.get(), key, EVP_sha256()) > 0;
  return is_made ? std::move(made) : nullptr;
}

std::string text_in(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

base::Result<std::string> make_authority() {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = key ? self_signed(key.get()) : nullptr;
  const Text text(BIO_new(BIO_s_mem()));
  if (!certificate || !text ||
      PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(text.get(), certificate.get()) != 1) {
    return base::error(Error::Kind::kInternal, "OpenSSL could not make a certificate authority");
  }
  return text_in(text.get());
}

}  // namespace

std::string host_roots() {
  const char* const chosen =
      ::getenv("SSL_CERT_FILE");  // NOLINT(concurrency-mt-unsafe): nothing sets any
  if (chosen != nullptr && ::access(chosen, R_OK) == 0) return chosen;
  for (const char* path : kRootsOfDistributions) {
    if (::access(path, R_OK) == 0) return path;
  }
  return "";
}

base::Result<std::string> roots_with(const std::string& directory, const std::string& roots,
                                     const std::string& further) {
  if (further.empty()) return roots;
  std::string all = roots.empty() ? "" : TRY(base::content_of_file(roots));
  const std::size_t known = all.size();
  for (std::size_t begin = 0; begin < further.size();) {
    const std::size_t end = std::min(further.find(kCertificateBegins, begin + 1), further.size());
    const std::string one = further.substr(begin, end - begin);
    if (all.find(one) == std::string::npos) all += "\n" + one;
    begin = end;
  }
  if (all.size() == known) return roots;
  std::string file = directory + "/roots.pem";
  TRY(base::keep_public_file(file, all));
  return file;
}

base::Result<Certificates> certificates_for(const std::string& directory, const std::string& roots,
                                            bool looks_inside) {
  if (!looks_inside) return Certificates{roots, roots, ""};
  if (roots.empty()) {
    return base::error(Error::Kind::kUnsupported,
                       "this machine has no certificates to trust, so no host could be verified: "
                       "install its package ca-certificates, or name a file by SSL_CERT_FILE");
  }
  Certificates made{roots, directory + "/certificates.pem", directory + "/authority.pem"};
  const std::string authority = TRY(base::private_file(made.authority, make_authority));
  const std::size_t certificate = authority.find(kCertificateBegins);
  if (certificate == std::string::npos) {
    return base::error(Error::Kind::kInternal, made.authority +
                                                   " has no certificate in it; remove it, "
                                                   "and a new one is made");
  }
  const std::string bundle =
      TRY(base::content_of_file(roots)) + "\n" + authority.substr(certificate);
  TRY(base::keep_public_file(made.bundle, bundle));
  return made;
}

}  // namespace sessions
