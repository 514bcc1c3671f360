#include "sandbox/egress/http_head.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <boost/beast/http/rfc7230.hpp>

#include "base/text.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr http::field kHopByHop[] = {http::field::connection,
                                     http::field::keep_alive,
                                     http::field::proxy_authenticate,
                                     http::field::proxy_authorization,
                                     http::field::proxy_connection,
                                     http::field::te,
                                     http::field::trailer,
                                     http::field::upgrade,
                                     http::field::transfer_encoding,
                                     http::field::content_length};

std::string_view text_in(beast::string_view text) { return {text.data(), text.size()}; }

// "host" or "host:port", of a plain http address.
bool take_authority(std::string_view text, Target& target) {
  const std::size_t colon = text.find(':');
  auto host = canonical_host(text.substr(0, colon));
  if (!host.ok()) return false;
  target.host = std::move(host).value();
  if (colon == std::string_view::npos) return true;
  target.port = base::number_of<std::uint16_t>(text.substr(colon + 1)).value_or(0);
  return target.port != 0;
}

}  // namespace

std::optional<Target> target_of(const http::request_header<>& head, bool as_proxy) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view asked = text_in(head.target());
  Target target;
  if (as_proxy) {
    if (!asked.starts_with(kScheme)) return std::nullopt;
    const std::string_view rest = asked.substr(kScheme.size());
    const std::size_t slash = std::min(rest.find_first_of("/?"), rest.size());
    target.path = rest.substr(slash);
    if (!target.path.starts_with('/')) target.path.insert(0, "/");
    if (!take_authority(rest.substr(0, slash), target)) return std::nullopt;
    return target;
  }
  if (!asked.starts_with('/') && asked != "*") return std::nullopt;
  target.path = asked;
  if (head.count(http::field::host) != 1) return std::nullopt;
  if (!take_authority(text_in(head[http::field::host]), target)) return std::nullopt;
  return target;
}

bool wants_websocket(const http::request_header<>& head) {
  return beast::iequals(head[http::field::upgrade], "websocket") &&
         head.method() == http::verb::get;
}

template <bool kIsRequest>
std::optional<Framing> framing_of(const http::header<kIsRequest, http::fields>& head) {
  const std::size_t codings = head.count(http::field::transfer_encoding);
  const std::size_t lengths = head.count(http::field::content_length);
  if (codings + lengths > 1) return std::nullopt;
  Framing framing;
  if (codings == 1) {
    framing.chunked = beast::iequals(head[http::field::transfer_encoding], "chunked");
    if (!framing.chunked || head.version() < 11) return std::nullopt;
  } else if (lengths == 1) {
    framing.length = base::number_of<std::uint64_t>(text_in(head[http::field::content_length]));
    if (!framing.length) return std::nullopt;
  }
  return framing;
}

template <bool kIsRequest>
void drop_hop_by_hop(http::header<kIsRequest, http::fields>& head) {
  const http::token_list named(head[http::field::connection]);
  std::vector<std::string> names;
  for (const auto& name : named) names.emplace_back(name);
  for (const std::string& name : names) {
    if (!beast::iequals(name, "host")) head.erase(name);
  }
  for (const http::field field : kHopByHop) head.erase(field);
}

template std::optional<Framing> framing_of<true>(const http::header<true, http::fields>&);
template std::optional<Framing> framing_of<false>(const http::header<false, http::fields>&);
template void drop_hop_by_hop<true>(http::header<true, http::fields>&);
template void drop_hop_by_hop<false>(http::header<false, http::fields>&);

}  // namespace sandbox::egress
