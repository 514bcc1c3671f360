// Opens the place where the server listens: a TCP address or a Unix socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace mcp::http {

struct Address {
  std::string unix_path;  // empty: TCP
  std::string host;       // numeric, without brackets
  int port = 0;           // 0: any that is free
  [[nodiscard]] bool is_unix() const { return !unix_path.empty(); }
  // Returns true for a Unix socket too: nobody on another machine reaches it.
  [[nodiscard]] bool is_loopback() const;
};

// Parses "127.0.0.1:8931", "[::1]:8931", "localhost:8931" or "unix:/path". Names are not looked up.
std::optional<Address> parse_address(std::string_view text);

// Owns the listening descriptor, and the file of a Unix socket.
class Listener {
 public:
  // The other alternative says why not. A socket file that nobody listens on is replaced; ours has
  // mode 0600.
  static std::variant<Listener, std::string> open(Address address);
  Listener(Listener&& other) noexcept;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const Address& address() const { return address_; }  // with the real port
  [[nodiscard]] std::string name() const;                            // for people

 private:
  Listener(int fd, Address address) : fd_(fd), address_(std::move(address)) {}

  int fd_;
  Address address_;
};

}  // namespace mcp::http
