#include "sandbox/environment.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/shortened_text.h"
#include "base/text.h"

namespace sandbox {

using base::Error;

namespace {

// The id that a name leads to; empty for what is no name.
std::string id_behind(const std::string& directory, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos || name.starts_with('.')) return "";
  char target[NAME_MAX + 1];
  const ssize_t size = ::readlink((directory + "/" + name).c_str(), target, sizeof target);
  if (size <= 0) return "";
  const std::string id(target, static_cast<std::size_t>(size));
  return id.find('/') == std::string::npos && !id.starts_with('.') ? id : "";
}

}  // namespace

base::Result<std::string> find_environment(const std::string& directory, const std::string& name) {
  const std::string id = id_behind(directory, name);
  const std::string found = directory + "/" + id;
  if (!id.empty() && ::access((found + "/environment.json").c_str(), R_OK) == 0) return found;
  const std::string known = base::join(template_names(directory));
  return base::error(Error::Kind::kNotFound, "no template \"" + base::echoed(name) +
                                                 "\"; there is: " + known +
                                                 " (hutch environments build makes one)");
}

std::string usual_template(const std::string& directory, const std::string& configured) {
  if (!configured.empty()) return configured;
  return find_environment(directory, kDefaultEnvironment).ok() ? kDefaultEnvironment
                                                               : kHostTemplate;
}

std::int64_t named_since_ms(const std::string& directory, const std::string& name) {
  struct stat status {};
  const std::string link = directory + "/" + name;
  if (::lstat(link.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return 0;
  return status.st_mtim.tv_sec * 1000LL + status.st_mtim.tv_nsec / 1'000'000;
}

std::vector<std::string> template_names(const std::string& directory) {
  std::vector<std::string> names = {kHostTemplate};
  const auto opened = base::open_file(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY);
  if (!opened.ok()) return names;
  for (const std::string& name : base::names_in(opened.value().get())) {
    if (!id_behind(directory, name).empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

base::Result<base::UniqueFd> use_environment(const std::string& environment_directory) {
  auto opened = TRY(base::open_file(AT_FDCWD, environment_directory, O_RDONLY | O_DIRECTORY));
  if (::flock(opened.get(), LOCK_SH | LOCK_NB) != 0) {
    return Error::from_errno(environment_directory + " is being removed",
                             Error::Kind::kUnavailable);
  }
  return opened;
}

}  // namespace sandbox
