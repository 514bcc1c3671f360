#include "sandbox/probe/host.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/fd.h"
#include "base/text.h"

namespace sandbox::probe {

namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

}  // namespace

Host::Host(const HostPaths& paths)
    : root_(paths.root == "/" ? "" : paths.root),
      search_path_(paths.search_path),
      home_(paths.home),
      uid_(paths.uid.value_or(::geteuid())) {}

std::string Host::read(const std::string& path) const {
  const base::UniqueFd fd(::open(at(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  auto content = base::read_all(fd.get(), kFileBytesMax);
  if (!content.ok()) return "";
  std::string text = std::move(content).value();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<std::string> Host::lines(const std::string& path) const {
  return base::words_of(read(path), '\n');
}

bool Host::has(const std::string& path) const { return ::access(at(path).c_str(), F_OK) == 0; }

std::string Host::real(const std::string& path) const {
  std::error_code failed;
  const std::string found = std::filesystem::canonical(at(path), failed);
  if (failed) return "";
  return found.starts_with(root_) ? found.substr(root_.size()) : found;
}

std::vector<Mount> mounts_of(const Host& host) {
  std::vector<Mount> mounts;
  for (const std::string& line : host.lines("/proc/self/mountinfo")) {
    // "id parent major:minor root target options [optional...] - type source superoptions"
    const auto fields = base::words_of(line);
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    mounts.push_back({fields[3], fields[4], *(dash + 1), base::words_of(*(dash + 3), ',')});
  }
  return mounts;
}

}  // namespace sandbox::probe
