// Certificates for the hosts that the door looks into, signed by the certificate authority of the
// state directory, whose certificate such sessions trust. One key for all of them, which lives as
// long as the door and is on no disk.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>
#include <openssl/types.h>

#include "base/result.h"
#include "sandbox/egress/asio.h"

namespace sandbox::egress {

class LeafCertificates {
 public:
  // `authority` has its key and its certificate, as PEM. Fails with kInvalid when it is no such
  // thing.
  static base::Result<std::shared_ptr<LeafCertificates>> open(const std::string& authority);

  // Returns a context with the host's certificate, to serve in its place; good for as long as it is
  // held.
  base::Result<std::shared_ptr<asio::ssl::context>> of(const std::string& host);

 private:
  using Clock = std::chrono::system_clock;
  struct Free {
    void operator()(X509* certificate) const;
    void operator()(EVP_PKEY* key) const;
  };
  using Certificate = std::unique_ptr<X509, Free>;
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  struct Made {
    std::shared_ptr<asio::ssl::context> context;
    Clock::time_point until;
  };

  LeafCertificates(Key authority_key, Certificate authority, Key key);
  [[nodiscard]] Certificate sign(const std::string& host) const;

  Key authority_key_;
  Certificate authority_;
  Key key_;
  std::map<std::string, Made> made_;
};

}  // namespace sandbox::egress
