#include "sandbox/egress/http_download.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "base/text.h"

namespace sandbox::egress {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr const char* kDoorsUserAgent = "hutch";
constexpr std::string_view kReleases[] = {".whl", ".metadata", ".tar.gz", ".tgz", ".zip"};
constexpr std::int64_t kReleaseFreshSeconds = 365LL * 24 * 3600;
// The client has something of its own already, or wants a piece.
constexpr http::field kOfOneClient[] = {http::field::range,
                                        http::field::if_range,
                                        http::field::if_match,
                                        http::field::if_none_match,
                                        http::field::if_modified_since,
                                        http::field::if_unmodified_since,
                                        http::field::authorization,
                                        http::field::proxy_authorization,
                                        http::field::cookie};

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

// RFC 9111 5.2: "no-cache, max-age=60" by name; a name of no directive has no value.
std::optional<std::string> directive(std::string_view text, std::string_view name) {
  for (const std::string_view piece : base::split(text, ',')) {
    const std::string_view one = base::trim(piece);
    const std::size_t sign = std::min(one.find('='), one.size());
    const auto known = one.substr(0, sign);
    if (!beast::iequals({known.data(), known.size()}, {name.data(), name.size()})) continue;
    return std::string(sign == one.size() ? "" : one.substr(sign + 1));
  }
  return std::nullopt;
}

std::int64_t seconds_in(std::string_view text) {
  std::int64_t seconds = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  return failure == std::errc() ? std::max<std::int64_t>(0, seconds) : 0;
}

std::string all_of(const http::fields& head, http::field name) {
  std::string text;
  const auto [first, last] = head.equal_range(name);
  for (auto field = first; field != last; ++field) text += text_of(field->value()) + ",";
  return text;
}

// A release never changes under its name, and pip and npm compare its hash with the index's. Some
// mirrors do not say so.
bool is_release(std::string_view path) {
  path = path.substr(0, path.find_first_of("?#"));
  return std::any_of(std::begin(kReleases), std::end(kReleases),
                     [path](std::string_view end) { return path.ends_with(end); });
}

// Nothing: it is for nobody else.
std::optional<KeptHead> kept_head_of(const http::response_header<>& head, std::string_view path) {
  const std::string control = all_of(head, http::field::cache_control);
  if (head.result() != http::status::ok || directive(control, "no-store") ||
      directive(control, "private") || head.count(http::field::set_cookie) > 0 ||
      all_of(head, http::field::vary).find('*') != std::string::npos) {
    return std::nullopt;
  }
  KeptHead kept;
  if (!directive(control, "no-cache")) {
    auto most = directive(control, "s-maxage");
    if (!most) most = directive(control, "max-age");
    const std::int64_t usual = control.empty() && is_release(path) ? kReleaseFreshSeconds : 0;
    const std::int64_t seconds = most ? seconds_in(*most) : usual;
    kept.fresh_seconds =
        std::max<std::int64_t>(0, seconds - seconds_in(text_of(head[http::field::age])));
  }
  kept.must_ask = directive(control, "must-revalidate") || directive(control, "proxy-revalidate");
  for (const auto& field : head) {
    if (field.name() == http::field::age || field.name() == http::field::content_length ||
        field.name() == http::field::connection || field.name() == http::field::transfer_encoding) {
      continue;
    }
    kept.fields.emplace_back(text_of(field.name_string()), text_of(field.value()));
  }
  return kept;
}

}  // namespace

bool wants_host_asked(const http::request_header<>& head) {
  const std::string control = all_of(head, http::field::cache_control);
  return directive(control, "no-cache") || directive(control, "max-age") == "0" ||
         beast::iequals(head[http::field::pragma], "no-cache");
}

bool HttpDownload::begin(http::request_header<>& head) {
  if (head.method() != http::verb::get || head.count(http::field::content_length) > 0 ||
      head.count(http::field::transfer_encoding) > 0 ||
      directive(all_of(head, http::field::cache_control), "no-store")) {
    return false;
  }
  if (std::any_of(std::begin(kOfOneClient), std::end(kOfOneClient),
                  [&head](http::field field) { return head.count(field) > 0; })) {
    return false;
  }
  std::vector<std::string> gone;
  for (const auto& field : head) {
    if (field.name() == http::field::host || field.name() == http::field::accept ||
        field.name() == http::field::accept_encoding) {
      continue;
    }
    gone.push_back(text_of(field.name_string()));
  }
  for (const std::string& name : gone) head.erase(name);
  head.set(http::field::user_agent, kDoorsUserAgent);
  return true;
}

HttpDownload::HttpDownload(Downloads& downloads, const Connection& connection,
                           const std::string& path, const std::string& credential,
                           const http::request_header<>& head, bool asks_host)
    : downloads_(downloads), path_(path), asks_host_(asks_host) {
  const std::array<std::string, 6> parts{connection.client.is_secure() ? "https" : "http",
                                         connection.host + ":" + std::to_string(connection.port),
                                         path,
                                         credential,
                                         all_of(head, http::field::accept),
                                         all_of(head, http::field::accept_encoding)};
  key_ = Downloads::key_of(parts);
  kept_ = downloads_.find(key_);
}

void HttpDownload::ask_whether_changed(http::request_header<>& head) const {
  if (!kept_) return;
  const std::string tag(kept_->head.field("etag"));
  const std::string changed(kept_->head.field("last-modified"));
  if (!tag.empty()) head.set(http::field::if_none_match, tag);
  if (tag.empty() && !changed.empty()) head.set(http::field::if_modified_since, changed);
}

bool HttpDownload::take_answer(const http::response_header<>& head) {
  if (head.result() == http::status::not_modified && kept_) {
    downloads_.renew(*kept_);
    return true;
  }
  auto kept = kept_head_of(head, path_);
  if (!kept) return false;
  head_ = std::move(*kept);
  coming_ = downloads_.begin();
  return false;
}

void HttpDownload::add(std::string_view part) {
  if (coming_) coming_->add(part);
}

void HttpDownload::finish() {
  if (coming_) downloads_.finish(key_, std::move(coming_), head_);
}

Task<bool> HttpDownload::send(Connection& connection, bool keeps_connection) {
  was_sent_ = true;
  http::response<http::empty_body> answer(http::status::ok, 11);
  for (const auto& [name, value] : kept_->head.fields) answer.insert(name, value);
  answer.set(http::field::age, std::to_string(kept_->age_seconds));
  answer.content_length(static_cast<std::uint64_t>(kept_->body_bytes));
  answer.keep_alive(keeps_connection);
  error_code failure;
  http::response_serializer<http::empty_body> serializer(answer);
  connection.received += static_cast<std::int64_t>(
      co_await http::async_write_header(connection.client, serializer, into(failure)));
  std::vector<char> part(kReadBytes);
  std::int64_t sent = 0;
  while (!failure && sent < kept_->body_bytes) {
    const std::size_t size = kept_->read(sent, part);
    if (size == 0) break;  // the disk fails: the client sees that it is not whole
    co_await asio::async_write(connection.client, asio::buffer(part.data(), size), into(failure));
    connection.saw_bytes();
    sent += static_cast<std::int64_t>(size);
    connection.received += static_cast<std::int64_t>(size);
  }
  co_return !failure && sent == kept_->body_bytes;
}

}  // namespace sandbox::egress
