#include "tools/ports/head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <utility>

#include "base/text.h"
#include "sessions/token_table.h"
#include "tools/ports/link.h"

namespace tools::ports {

namespace http = boost::beast::http;
using base::Error;

namespace {

constexpr std::uint32_t kHeadBytesMax = 64U << 10;
// A page of code nobody trusts, at the address of hutch itself: it is to be nobody's.
constexpr const char* kSandbox =
    "sandbox allow-scripts allow-forms allow-downloads allow-modals allow-popups";

// A browser obeys these for other names below the same domain, for all of an origin, or for as long
// as it likes; a proxy in front gives files of its own machine for the last.
constexpr std::array kActElsewhere{"Clear-Site-Data",
                                   "Strict-Transport-Security",
                                   "Public-Key-Pins",
                                   "Public-Key-Pins-Report-Only",
                                   "Expect-CT",
                                   "Alt-Svc",
                                   "NEL",
                                   "Report-To",
                                   "Reporting-Endpoints",
                                   "Service-Worker-Allowed",
                                   "Origin-Agent-Cluster",
                                   "Sec-Session-Registration",
                                   "Secure-Session-Registration",
                                   "Trailer",
                                   "X-Sendfile",
                                   "X-Lighttpd-Send-File",
                                   "X-Reproxy-URL"};
constexpr std::array kActElsewherePrefixes{"X-Accel-"};
// Headers that are dropped, too, where a server is reached below a path: its origin is hutch's own
// there, and they would speak for hutch itself.
constexpr std::array kActForOrigin{
    "Accept-CH",         "Critical-CH",           "Set-Login",
    "Speculation-Rules", "Supports-Loading-Mode", "Use-As-Dictionary",
    "WWW-Authenticate"};
constexpr std::array kActForOriginPrefixes{"Access-Control-"};

std::string text_of(boost::beast::string_view view) { return {view.data(), view.size()}; }

std::string without_cookies(std::string_view cookies, const std::vector<std::string>& names) {
  std::string kept;
  for (const std::string_view one : parts_of(cookies)) {
    const std::string_view name = one.substr(0, one.find('='));
    if (one.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    base::append_part(kept, std::string(one), "; ");
  }
  return kept;
}

// A cookie for all names below a domain would be one for the servers of other sessions.
std::string without_domain(std::string_view cookie) {
  const auto parts = parts_of(cookie);
  std::string kept(parts.empty() ? "" : parts.front());
  for (std::size_t at = 1; at < parts.size(); ++at) {
    const std::string_view name = parts[at].substr(0, parts[at].find_first_of("= \t"));
    if (boost::beast::iequals({name.data(), name.size()}, "domain")) continue;
    kept += "; " + std::string(parts[at]);
  }
  return kept;
}

void keep_cookies_to_this_host(http::fields& fields) {
  std::vector<std::string> cookies;
  const auto [begin, end] = fields.equal_range(http::field::set_cookie);
  for (auto at = begin; at != end; ++at) cookies.push_back(without_domain(text_of(at->value())));
  fields.erase(http::field::set_cookie);
  for (const std::string& cookie : cookies) fields.insert(http::field::set_cookie, cookie);
}

bool is_token_digit(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
}

// Returns whether a token of hutch stands in the value, also as E2B's SDKs write one.
bool has_own_token(std::string_view value) {
  constexpr std::size_t kDigitsLeast = 64;
  for (const std::string_view prefix : {sessions::kTokenPrefix, std::string_view("e2b_")}) {
    for (std::size_t at = value.find(prefix); at != value.npos; at = value.find(prefix, at + 1)) {
      const std::string_view rest = value.substr(at + prefix.size());
      const auto end = std::find_if_not(rest.begin(), rest.end(), is_token_digit);
      if (static_cast<std::size_t>(end - rest.begin()) >= kDigitsLeast) return true;
    }
  }
  return false;
}

// At a host of its own a server has its own tokens, which it is to get. One of hutch's that came
// along by mistake is for nobody there.
void drop_own_tokens(http::fields& fields) {
  for (const char* name : {"Authorization", "X-API-Key"}) {
    const auto [begin, end] = fields.equal_range(name);
    const bool has_one = std::any_of(
        begin, end, [](const auto& field) { return has_own_token(text_of(field.value())); });
    if (has_one) fields.erase(name);
  }
}

void hide(http::fields& fields, const Inward& how) {
  drop_own_tokens(fields);
  for (const std::string& name : how.secrets) fields.erase(name);
  const std::string cookies =
      how.keeps_origin ? without_cookies(text_of(fields[http::field::cookie]), how.secret_cookies)
                       : "";
  fields.erase(http::field::cookie);
  if (!cookies.empty()) fields.set(http::field::cookie, cookies);
}

template <typename Names, typename Prefixes>
void drop(http::fields& fields, const Names& names, const Prefixes& prefixes) {
  for (const char* name : names) fields.erase(name);
  std::vector<std::string> begin_so;
  for (const auto& field : fields) {
    const boost::beast::string_view name = field.name_string();
    for (const boost::beast::string_view prefix : prefixes) {
      const bool begins = boost::beast::iequals(name.substr(0, prefix.size()), prefix);
      if (begins) begin_so.push_back(text_of(name));
    }
  }
  for (const std::string& name : begin_so) fields.erase(name);
}

// Where the server's own words lead, as the client has to say it.
void turn_location(http::fields& fields, const Inward& how) {
  std::string location = text_of(fields[http::field::location]);
  for (const char* host : {"localhost", "127.0.0.1", "[::1]"}) {
    const std::string own = std::string("http://") + host + ":" + std::to_string(how.port);
    if (location == own) location = "/";
    if (location.starts_with(own + "/")) location.erase(0, own.size());
  }
  if (!location.starts_with('/') || location.starts_with("//")) return;
  fields.set(http::field::location, how.prefix + location);
}

template <typename Fields>
std::string printed(const Fields& head) {
  std::ostringstream out;
  out << head;
  return out.str();
}

}  // namespace

std::vector<std::string_view> parts_of(std::string_view cookies) {
  std::vector<std::string_view> parts;
  for (const std::string_view one : base::split_at_ends(cookies, ';')) {
    parts.push_back(base::trim(one));
  }
  return parts;
}

base::Result<RequestHead> head_for_server(std::string_view head, const Inward& how) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kHeadBytesMax);
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // none of it passes here
  boost::system::error_code failure;
  (void)parser.put(boost::asio::buffer(head.data(), head.size()), failure);
  if (failure || !parser.is_header_done()) {
    return base::error(Error::Kind::kInvalid, "the head of the request cannot be read");
  }
  auto& request = parser.get().base();
  RequestHead result;
  result.upgrades = parser.upgrade();
  result.waits_to_continue = request.count(http::field::expect) > 0;
  request.erase(http::field::expect);
  request.erase(http::field::te);  // trailers behind a body are not looked at
  std::string target = text_of(request.target());
  // Decoded it may have been that path and another one as it stands.
  if (!target.starts_with(how.prefix)) {
    return base::error(Error::Kind::kInvalid, "write the path as " + how.prefix + "/");
  }
  target.erase(0, how.prefix.size());
  if (how.keeps_origin && target.starts_with('/')) target = without_access(target);
  if (!target.starts_with('/')) target.insert(0, 1, '/');
  request.target(target);
  hide(request, how);
  const std::string host = text_of(request[http::field::host]);
  if (!how.keeps_origin) {
    request.set(http::field::host, "localhost:" + std::to_string(how.port));
    request.erase(http::field::origin);
  }
  if (!how.host.empty()) request.set(http::field::host, how.host);
  request.set("X-Forwarded-Host", host);
  request.set("X-Forwarded-Proto", how.is_tls ? "https" : "http");
  if (!how.prefix.empty()) request.set("X-Forwarded-Prefix", how.prefix);
  if (!result.upgrades) request.set(http::field::connection, "close");
  result.text = printed(request);
  return result;
}

Opening head_for_client(bool upgrades, const Inward& how) {
  return [upgrades, how](std::string& come) -> base::Result<std::optional<std::string>> {
    while (true) {
      http::response_parser<http::empty_body> parser;
      parser.header_limit(kHeadBytesMax);
      parser.body_limit(std::numeric_limits<std::uint64_t>::max());
      parser.skip(true);
      boost::system::error_code failure;
      const std::size_t read = parser.put(boost::asio::buffer(come), failure);
      if (failure == http::error::need_more) return std::optional<std::string>();
      if (failure) return base::error(Error::Kind::kInvalid, failure.message());
      if (!parser.is_header_done()) return std::optional<std::string>();
      come.erase(0, read);
      auto& response = parser.get().base();
      const bool switches = response.result() == http::status::switching_protocols;
      if (response.result_int() < 200 && !switches) continue;  // it is told already
      if (switches && !upgrades) {
        return base::error(Error::Kind::kInvalid, "it switches to what nobody asked for");
      }
      if (!switches) response.set(http::field::connection, "close");
      response.erase("Keep-Alive");
      drop(response, kActElsewhere, kActElsewherePrefixes);
      if (!how.keeps_origin) drop(response, kActForOrigin, kActForOriginPrefixes);
      turn_location(response, how);
      if (how.keeps_origin) {
        keep_cookies_to_this_host(response);
      } else {
        response.erase(http::field::set_cookie);
        response.insert("Content-Security-Policy", kSandbox);
      }
      return std::optional<std::string>(printed(response));
    }
  };
}

std::string plain_answer(int status, const std::string& text,
                         const std::vector<std::pair<std::string, std::string>>& headers) {
  http::response<http::string_body> response(static_cast<http::status>(status), 11);
  for (const auto& [name, value] : headers) response.insert(name, value);
  response.set(http::field::content_type, "text/plain; charset=utf-8");
  response.set(http::field::cache_control, "no-store");
  response.set(http::field::connection, "close");
  response.body() = text + "\n";
  response.prepare_payload();
  return printed(response);
}

}  // namespace tools::ports
