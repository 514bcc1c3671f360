#include "tools/cli/network_proxy.h"

#include <curl/curl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>

#include "base/base64.h"
#include "base/text.h"

namespace tools::cli {

using base::Error;
using sandbox::NetworkProxy;

namespace {

struct CleanUp {
  void operator()(CURLU* url) const { ::curl_url_cleanup(url); }
};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  std::string result(text);
  ::curl_free(text);
  return result;
}

base::Result<NetworkProxy> parse_proxy(const std::string& text) {
  const auto wrong = [] {
    // Not the text, in which there may be a password.
    return base::error(Error::Kind::kInvalid,
                       "must be http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT; other kinds "
                       "of proxies are not used");
  };
  const std::unique_ptr<CURLU, CleanUp> url(::curl_url());
  const std::string whole = text.find("://") == std::string::npos ? "http://" + text : text;
  if (!url || ::curl_url_set(url.get(), CURLUPART_URL, whole.c_str(), 0) != CURLUE_OK) {
    return wrong();
  }
  if (part_of(url.get(), CURLUPART_SCHEME) != "http") return wrong();
  NetworkProxy proxy;
  proxy.host = part_of(url.get(), CURLUPART_HOST);
  if (proxy.host.starts_with('[')) proxy.host = proxy.host.substr(1, proxy.host.size() - 2);
  const std::string port = part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  proxy.port = base::number_of<std::uint16_t>(port).value_or(0);
  const std::string user = part_of(url.get(), CURLUPART_USER, CURLU_URLDECODE);
  const std::string password = part_of(url.get(), CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (proxy.host.empty() || proxy.port == 0) return wrong();
  if (!user.empty()) proxy.authorization = "Basic " + base::to_base64(user + ":" + password);
  return proxy;
}

std::string either(const Environment& environment, const char* lower, const char* upper) {
  const std::string value = environment(lower);
  return value.empty() ? environment(upper) : value;
}

// "a, .b c" and how else it is written.
std::vector<std::string> names_in(const std::string& text) {
  constexpr const char* kBetween = ", \t";
  std::vector<std::string> names;
  std::size_t begin = text.find_first_not_of(kBetween);
  while (begin != std::string::npos) {
    const std::size_t end = text.find_first_of(kBetween, begin);
    std::string name = base::lower(std::string_view(text).substr(begin, end - begin));
    // "*.a" is ".a", "a." is "a", and a port is not told apart.
    if (name.starts_with("*.")) name.erase(0, 1);
    if (std::count(name.begin(), name.end(), ':') == 1) name.resize(name.find(':'));
    if (name.ends_with('.')) name.pop_back();
    names.push_back(std::move(name));
    begin = text.find_first_not_of(kBetween, end);
  }
  return names;
}

}  // namespace

base::Result<NetworkProxy> network_proxy(const Settings& settings, const Environment& environment) {
  std::string text = either(environment, "https_proxy", "HTTPS_PROXY");
  std::vector<std::string> direct = names_in(either(environment, "no_proxy", "NO_PROXY"));
  if (settings.proxy) text = *settings.proxy;
  if (settings.proxy || !settings.no_proxy.empty()) {
    direct.clear();
    for (const std::string& name : settings.no_proxy) {
      for (std::string& one : names_in(name)) direct.push_back(std::move(one));
    }
  }
  if (text.empty()) return NetworkProxy{};
  auto proxy = parse_proxy(text);
  if (!proxy.ok()) {
    if (settings.proxy) return std::move(proxy).error().context("proxy in [network]");
    spdlog::log(settings.allow.empty() ? spdlog::level::debug : spdlog::level::warn,
                "the variable https_proxy is not used for sessions: it {}", proxy.error().message);
    return NetworkProxy{};
  }
  proxy.value().direct = std::move(direct);
  return proxy;
}

}  // namespace tools::cli
