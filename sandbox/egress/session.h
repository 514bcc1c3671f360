// A Session is one session at the door: what it may reach, the sockets in its box, and its
// connections.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/udp.hpp>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/address_range.h"
#include "sandbox/egress/asio.h"
#include "sandbox/egress/box_events.h"
#include "sandbox/egress/connection.h"
#include "sandbox/egress/credentials.h"
#include "sandbox/egress/leaf_certificates.h"
#include "sandbox/egress/lookups.h"
#include "sandbox/egress/names.h"
#include "sandbox/egress/pace.h"
#include "sandbox/egress/resources.h"
#include "sandbox/egress/underway.h"
#include "sandbox/network_proxy.h"
#include "sandbox/network_quota.h"
#include "sandbox/network_rule.h"

namespace sandbox::egress {

// A RequestNote is a request that is on, as it is to be told of.
struct RequestNote {
  RequestNote(const Connection& connection, std::string_view method, std::string_view path)
      : asked(method, path), sent_before(connection.sent), received_before(connection.received) {}

  AskedFor asked;
  std::int64_t sent_before;
  std::int64_t received_before;
  Connection::Clock::time_point began = Connection::Clock::now();
  Told told;  // from when it goes to the host
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::io_context& context, Resources& resources, std::shared_ptr<BoxEvents> events);

  void set_id(std::string id) { id_ = std::move(id); }
  void set_rules(std::vector<NetworkRule> rules);
  // Sets the addresses that the operator has given to names: canonical name to address.
  void set_addresses(std::map<std::string, asio::ip::address> addresses);
  void set_credentials(std::vector<Credential> credentials);
  void set_private_hosts(std::vector<NetworkRule> hosts) { private_hosts_ = std::move(hosts); }
  void set_denied_addresses(std::vector<AddressRange> ranges);
  void set_proxy(NetworkProxy proxy) { proxy_ = std::move(proxy); }
  void set_quota(const NetworkQuota& quota);
  // Sets the hosts whose answers are kept for all sessions, by their canonical names.
  void set_kept_hosts(std::set<std::string> hosts) { kept_hosts_ = std::move(hosts); }
  void take_credential(const std::string& name, base::UniqueFd pipe);
  // These two set what it takes to look into TLS: certificates for its clients, and whose
  // certificates the door trusts itself.
  void set_authority(std::shared_ptr<LeafCertificates> leaves) { leaves_ = std::move(leaves); }
  void set_roots(std::shared_ptr<asio::ssl::context> roots) { roots_ = std::move(roots); }
  // Fails with kInvalid when there is no such kind, or the socket is none of that kind.
  base::Status add_listener(const std::string& kind, std::uint16_t port, base::UniqueFd socket);
  // Closes everything that it has: nothing of it comes back.
  void close();
  // Closes everything, and tells the box of what was under way.
  void end();

  // It is for those who serve its connections.
  [[nodiscard]] bool is_closed() const { return closed_; }
  // Returns the answer to a query of the name service; nothing where it is none.
  std::optional<std::string> answer_names(std::string_view query);
  [[nodiscard]] bool allows(const std::string& host, std::uint16_t port) const;
  // Returns whether requests are looked at one by one, even within TLS.
  [[nodiscard]] bool looks_into(const std::string& host, std::uint16_t port) const;
  [[nodiscard]] bool allows_request(const Connection& connection, std::string_view method,
                                    std::string_view path) const;
  // Returns whether only some requests to its host are allowed.
  [[nodiscard]] bool limits_requests_of(const Connection& connection) const;
  [[nodiscard]] std::optional<std::string> name_of(Connection& connection) const;
  void refuse(const std::string& host, std::uint16_t port, const std::string& reason,
              const AskedFor& asked = {});
  void refuse(const std::string& host, std::uint16_t port, const Refused& why,
              const AskedFor& asked = {});
  // Returns why what no rule allows is refused. `port` 0: whichever.
  [[nodiscard]] static Refused not_allowed(std::string host, std::uint16_t port);
  // Returns the reason with what can be done about it, for the code that was refused.
  [[nodiscard]] std::string words_of(const Refused& why) const;
  // Connects to its host; on failure it has been told of, and the reason is returned.
  Task<std::string> open(Connection& connection);
  // Sets `place` to one among the requests whose bodies have to be read before they are sent, until
  // it is let go. When there is none, returns whose requests take all of them.
  std::string take_body_place(std::shared_ptr<void>& place);
  // Waits until the box has taken its events and it is a request's turn. To be called before each
  // request.
  Task<void> pace();
  // Tells that a request goes to the host now, with the credential of that name, if any. `count`
  // gives its bytes.
  void begin_request(const Connection& connection, RequestNote& note, const std::string& credential,
                     Underway::Count count);
  // Tells it of a request that has the connection for itself: its bytes are those of the connection
  // since `note` was made.
  void begin_request(const Connection& connection, RequestNote& note,
                     const std::string& credential);
  // Tells the end of a request that has begun. Does nothing when it has not.
  static void end_request(RequestNote& note, unsigned status, bool was_kept);
  [[nodiscard]] bool keeps(const std::string& host) const;
  [[nodiscard]] Downloads& downloads() { return resources_.downloads; }
  // Begins TLS with the client, as the host. Returns false when that failed, which is told of: the
  // connection is of no use any more.
  Task<bool> secure_client(Connection& connection, const std::string& first);
  // Begins TLS with the host, after open(). Returns the reason why not.
  Task<std::string> secure_upstream(Connection& connection);
  [[nodiscard]] Credentials& credentials() { return credentials_; }
  // It is connected; where nobody looks into it, that is all that is told of before its end.
  void tell_opened(Connection& connection);
  // It is called once for each open().
  void tell_closed(Connection& connection);
  // From then on nobody looks into it.
  void join(const std::shared_ptr<Connection>& connection, std::string first);

 private:
  static constexpr std::size_t kHeldBodiesMost = 4;
  using Acceptor = asio::ip::tcp::acceptor;
  using Serve = Task<void> (*)(std::shared_ptr<Session>, std::shared_ptr<Connection>);

  Task<void> accept(std::shared_ptr<Acceptor> acceptor, std::uint16_t port, Serve serve);
  // Returns who has as many connections as may be, and how many; empty when there is a place.
  std::string take_place(Connection& connection);
  void start(Socket accepted, std::uint16_t port, Serve serve);
  void use_up();
  [[nodiscard]] std::string why_used_up() const;  // empty: it may go on
  [[nodiscard]] bool reaches_what_is_denied(Connection& connection) const;
  void finish(const std::shared_ptr<Connection>& connection);

  asio::io_context& context_;
  Resources& resources_;
  Lookups lookups_;
  std::shared_ptr<BoxEvents> events_;
  Credentials credentials_;
  Places held_bodies_{kHeldBodiesMost};
  std::string id_;
  NetworkQuota quota_;
  Pace requests_;
  Pace accepted_;
  std::shared_ptr<PrincipalShare> share_;
  std::shared_ptr<Meter> meter_;
  std::shared_ptr<Underway> underway_;
  std::vector<NetworkRule> rules_;
  std::map<std::string, asio::ip::address> addresses_;
  std::vector<NetworkRule> private_hosts_;
  std::vector<AddressRange> denied_addresses_;
  NetworkProxy proxy_;
  std::set<std::string> kept_hosts_;
  std::shared_ptr<LeafCertificates> leaves_;
  std::shared_ptr<asio::ssl::context> roots_;
  Names names_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;
  std::shared_ptr<asio::ip::udp::socket> packets_;
  std::set<std::shared_ptr<Connection>> connections_;
  bool closed_ = false;
};

}  // namespace sandbox::egress
