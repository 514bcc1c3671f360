#include "mcp/auth/https_fetch.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

namespace mcp::auth {
namespace {

struct CleanUp {
  void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
  void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
};

struct Body {
  std::string bytes;
  std::size_t bytes_max;
};

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* target) {
  auto& body = *static_cast<Body*>(target);
  if (size * count > body.bytes_max - body.bytes.size()) return 0;  // ends the transfer
  body.bytes.append(bytes, size * count);
  return size * count;
}

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string result(text);
  ::curl_free(text);
  return result;
}

struct Url {
  std::string scheme;
  std::string host;
};

Url read_url(const std::string& text) {
  const std::unique_ptr<CURLU, CleanUp> url(::curl_url());
  if (!url || ::curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return {};
  return {part_of(url.get(), CURLUPART_SCHEME), part_of(url.get(), CURLUPART_HOST)};
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

void set_options(CURL* handle, const std::string& url, const FetchBounds& bounds, Body& body) {
  const bool plain = read_url(url).scheme == "http";
  (void)::curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  (void)::curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
  // A request over plain http never leaves this machine: no proxy that the environment names may
  // get it.
  if (plain) (void)::curl_easy_setopt(handle, CURLOPT_PROXY, "");
  (void)::curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  (void)::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  (void)::curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(bounds.time_max.count()));
  (void)::curl_easy_setopt(handle, CURLOPT_USERAGENT, "hutch");
  (void)::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take);
  (void)::curl_easy_setopt(handle, CURLOPT_WRITEDATA, &body);
}

}  // namespace

std::optional<Refusal> check_fetch_url(const std::string& url) {
  const Url parts = read_url(url);
  if (parts.host.empty()) return Refusal{"is no URL"};
  if (parts.scheme == "https") return std::nullopt;
  if (parts.scheme == "http" && is_loopback(parts.host)) return std::nullopt;
  return Refusal{"must begin with https:// (or http:// and a loopback address)"};
}

std::variant<std::string, Refusal> fetch(const std::string& url, const FetchBounds& bounds) {
  static std::once_flag once;
  std::call_once(once, [] { (void)::curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<CURL, CleanUp> handle(::curl_easy_init());
  if (!handle) return Refusal{"libcurl does not start"};
  Body body{"", bounds.bytes_max};
  set_options(handle.get(), url, bounds, body);
  const CURLcode code = ::curl_easy_perform(handle.get());
  if (code == CURLE_WRITE_ERROR) return Refusal{url + " sends too much"};
  if (code != CURLE_OK) return Refusal{url + ": " + ::curl_easy_strerror(code)};
  long status = 0;
  (void)::curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return Refusal{url + " answered with status " + std::to_string(status)};
  return std::move(body.bytes);
}

}  // namespace mcp::auth
