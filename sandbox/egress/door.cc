#include "sandbox/egress/door.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/unix_socket.h"
#include "sandbox/box_spec.h"
#include "sandbox/wire/egress_protocol.h"

namespace sandbox::egress {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kRestAfter{10};
constexpr std::chrono::milliseconds kAcceptPause{50};
constexpr std::size_t kCertificatesBytesMax = 2 << 20;

base::Result<std::map<std::string, asio::ip::address>> addresses_of(const json& value) {
  std::map<std::string, asio::ip::address> addresses;
  if (!value.is_object()) return base::error(Error::Kind::kInvalid, "addresses");
  for (const auto& [host, text] : value.items()) {
    error_code failure;
    addresses[host] =
        asio::ip::make_address(text.is_string() ? text.get<std::string>() : "", failure);
    if (failure) return base::error(Error::Kind::kInvalid, "addresses");
  }
  return addresses;
}

base::Result<std::set<std::string>> names_in(const json& message, const char* key) {
  std::set<std::string> names;
  for (const json& name : message.value(key, json::array())) {
    if (!name.is_string()) return base::error(Error::Kind::kInvalid, key);
    names.insert(name.get<std::string>());
  }
  return names;
}

base::Status take_authority(Session& session, Resources& resources, const base::UniqueFd& fd) {
  const std::string text = TRY(base::read_all(fd.get(), kCertificatesBytesMax));
  auto& known = resources.authorities[text];
  if (!known) known = TRY(LeafCertificates::open(text));
  session.set_authority(known);
  return base::done();
}

base::Status take_roots(Session& session, Resources& resources, const base::UniqueFd& fd) {
  const std::string text = TRY(base::read_all(fd.get(), kCertificatesBytesMax));
  auto& known = resources.roots[text];
  if (!known) {
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
    error_code failure;
    context->add_certificate_authority(asio::buffer(text), failure);
    if (failure) return base::error(Error::Kind::kInvalid, "certificates: " + failure.message());
    SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
    known = std::move(context);
  }
  session.set_roots(known);
  return base::done();
}

base::Status take_message(Session& session, Resources& resources, const json& message,
                          base::UniqueFd fd) {
  const std::string op = base::string_or(message, "op");
  if (op == "open" || op == "rules") {
    session.set_addresses(TRY(addresses_of(message.value("addresses", json::object()))));
    session.set_credentials(
        TRY(credentials_from_json(message.value("credentials", json::array()))));
    session.set_private_hosts(TRY(rules_from_json(message.value("private_hosts", json::array()))));
    session.set_denied_addresses(
        TRY(ranges_from_json(message.value("denied_addresses", json::array()))));
    session.set_proxy(TRY(proxy_from_json(message.value("proxy", json()))));
    // Once: what it has used meanwhile is not given back.
    if (op == "open") {
      session.set_id(base::string_or(message, "session_id"));
      session.set_quota(TRY(quota_from_json(message.value("quota", json::object()))));
    }
    session.set_kept_hosts(TRY(names_in(message, "kept_hosts")));
    session.set_rules(TRY(rules_from_json(message.value("rules", json::array()))));
    return base::done();
  }
  if (op == "close") {
    session.end();
    return base::done();
  }
  if (op == "credential") {
    session.take_credential(base::string_or(message, "name"), std::move(fd));
    return base::done();
  }
  if (op == "authority" && fd.valid()) return take_authority(session, resources, fd);
  if (op == "roots" && fd.valid()) return take_roots(session, resources, fd);
  if (op != "listener" || !fd.valid()) return base::error(Error::Kind::kInvalid, "unknown op");
  const auto port = base::integer_or(message, "port", 0);
  return session.add_listener(base::string_or(message, "kind"), static_cast<std::uint16_t>(port),
                              std::move(fd));
}

bool has_packet(int socket_fd) {
  pollfd waiting{.fd = socket_fd, .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Each has two descriptors, and those of names and boxes need some too.
std::size_t connections_at_most() {
  constexpr std::size_t kMost = 2048;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost / 4;
  return std::min<std::size_t>(kMost, limit.rlim_cur / 4);
}

}  // namespace

Door::Door(asio::io_context& context, base::UniqueFd socket, Downloads downloads)
    : context_(context),
      resources_(connections_at_most(), std::move(downloads)),
      socket_(context, socket.release()),
      rest_(context) {
  asio::co_spawn(context_, accept(), asio::detached);
  rest();
}

void Door::rest() {
  rest_.expires_after(kRestAfter);
  rest_.async_wait([this](error_code failure) {
    if (!failure && boxes_ == 0) context_.stop();
  });
}

Task<void> Door::accept() {
  while (true) {
    error_code failure;
    co_await socket_.async_wait(Channel::wait_read, into(failure));
    if (failure) co_return context_.stop();
    const int fd = ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      // No descriptor is left, most likely: others end meanwhile.
      asio::steady_timer pause(context_, kAcceptPause);
      co_await pause.async_wait(into(failure));
      continue;
    }
    ++boxes_;
    asio::co_spawn(context_, serve(std::make_shared<Channel>(context_, fd)),
                   [this](const std::exception_ptr&) {
                     if (--boxes_ == 0) rest();
                   });
  }
}

Task<void> Door::serve(std::shared_ptr<Channel> box) {
  const auto events = std::make_shared<BoxEvents>(context_, box);
  const auto session = std::make_shared<Session>(context_, resources_, events);
  error_code failure;
  while (true) {
    // All that the box has said goes before whatever its session asks for: a request must not be
    // judged by rules of before. The wait may end for a packet that was taken already.
    while (!failure && !has_packet(box->native_handle())) {
      co_await box->async_wait(Channel::wait_read, into(failure));
    }
    if (failure) break;
    auto packet = base::receive_packet(box->native_handle(), wire::kEgressPacketBytesMax);
    if (!packet.ok() || packet.value().bytes.empty()) break;
    const auto message = base::parse_json(packet.value().bytes);
    if (!message.ok() || !message.value().is_object()) break;
    const auto taken =
        take_message(*session, resources_, message.value(), std::move(packet.value().fd));
    if (!taken.ok()) {
      std::fprintf(stderr, "hutch-egress: %s\n", taken.error().message.c_str());
      break;
    }
  }
  session->close();
  box->close(failure);
}

}  // namespace sandbox::egress
