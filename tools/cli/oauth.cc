#include "tools/cli/oauth.h"

#include <fcntl.h>

#include <utility>

#include "base/fd.h"
#include "mcp/auth/https_fetch.h"

namespace tools::cli {

using base::Error;
using mcp::auth::Refusal;

namespace {

Error wrong(const std::string& what) {
  return base::error(Error::Kind::kInvalid, "[oauth] of the configuration: " + what);
}

base::Result<std::string> read_key_file(const std::string& path) {
  const base::UniqueFd file = TRY(base::open_file(AT_FDCWD, path, O_RDONLY));
  return base::read_all(file.get(), mcp::auth::kKeySetBytesMax);
}

base::Result<mcp::auth::KeySource::Fetch> key_fetch(const OauthSettings& settings) {
  if (settings.jwks_uri.empty() == settings.jwks_file.empty()) {
    return wrong("one of jwks_uri and jwks_file is needed");
  }
  if (!settings.jwks_uri.empty()) {
    if (const auto refusal = mcp::auth::check_fetch_url(settings.jwks_uri)) {
      return wrong("jwks_uri " + refusal->why);
    }
    return mcp::auth::KeySource::Fetch([url = settings.jwks_uri] {
      return mcp::auth::fetch(url, {.bytes_max = mcp::auth::kKeySetBytesMax});
    });
  }
  return mcp::auth::KeySource::Fetch(
      [path = settings.jwks_file]() -> std::variant<std::string, Refusal> {
        auto text = read_key_file(path);
        if (!text.ok()) return Refusal{text.error().message};
        return std::move(text).value();
      });
}

}  // namespace

base::Result<std::shared_ptr<mcp::auth::ResourceServer>> make_resource_server(
    const OauthSettings& settings, std::function<void(const std::string&)> on_fault) {
  auto fetch = TRY(key_fetch(settings));
  mcp::auth::ResourceServerOptions options;
  options.issuer = settings.issuer;
  options.resource = settings.resource;
  options.scopes = settings.scopes;
  options.change_scopes = settings.change_scopes;
  options.metrics_scopes = settings.metrics_scopes;
  options.algorithms.clear();
  for (const std::string& name : settings.algorithms) {
    const auto algorithm = mcp::auth::algorithm_named(name);
    if (!algorithm) return wrong("algorithms may be RS256, ES256 and EdDSA, not " + name);
    options.algorithms.push_back(*algorithm);
  }
  if (const auto refusal = mcp::auth::check_options(options)) return wrong(refusal->why);
  return std::make_shared<mcp::auth::ResourceServer>(std::move(options), std::move(fetch),
                                                     std::move(on_fault));
}

}  // namespace tools::cli
