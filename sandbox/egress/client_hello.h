// The first message of a TLS client, read by OpenSSL, which is told nothing else of the connection.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/types.h>

namespace sandbox::egress {

class ClientHello {
 public:
  static constexpr std::size_t kBytesMax = 20 * 1024;

  enum class State {
    kIncomplete,  // more is to be fed
    kWhole,
    kNone  // not the beginning of TLS
  };

  ClientHello();
  ~ClientHello();
  ClientHello(const ClientHello&) = delete;
  ClientHello& operator=(const ClientHello&) = delete;

  State feed(std::string_view bytes);

  // Returns the name, once it is whole; empty when it names nobody.
  [[nodiscard]] const std::string& server_name() const { return server_name_; }
  // It has another one in it that only the server can read (encrypted ClientHello), or what looks
  // like it.
  [[nodiscard]] bool has_hidden_name() const { return has_hidden_name_; }

 private:
  static int read(SSL* ssl, int* alert, void* unused);

  struct Free {
    void operator()(SSL* ssl) const;
  };
  std::unique_ptr<SSL, Free> ssl_;
  std::string server_name_;
  bool has_hidden_name_ = false;
  bool is_read_ = false;
};

}  // namespace sandbox::egress
