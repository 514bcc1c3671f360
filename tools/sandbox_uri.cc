#include "tools/sandbox_uri.h"

#include "base/percent_encoding.h"

namespace tools {
namespace {

constexpr std::string_view kScheme = "sandbox://";

}  // namespace

std::string sandbox_uri(std::string_view authority, std::string_view path) {
  return std::string(kScheme) + base::percent_encoded(authority, "/") +
         base::percent_encoded(path, "/");
}

std::string shared_id_of(const std::string& path) { return path.substr(1, path.find('/', 1) - 1); }

std::optional<SandboxUri> parse_sandbox_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  uri.remove_prefix(kScheme.size());
  if (uri.find_first_of("?#") != std::string_view::npos) return std::nullopt;
  const std::size_t slash = uri.find('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  auto authority = base::whole_percent_decoded(uri.substr(0, slash));
  auto path = base::whole_percent_decoded(uri.substr(slash));
  if (!authority || !path) return std::nullopt;
  if ((*authority + *path).find('\0') != std::string::npos) return std::nullopt;
  return SandboxUri{std::move(*authority), std::move(*path)};
}

}  // namespace tools
