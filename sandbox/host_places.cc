#include "sandbox/host_places.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/fd.h"

namespace sandbox {

using base::Error;

namespace {

constexpr const char* kSystem[] = {"/boot",
                                   "/dev",
                                   "/etc",
                                   "/proc",
                                   "/run",
                                   "/sys",
                                   "/tmp/.X11-unix",
                                   "/tmp/.ICE-unix",
                                   "/var/run",
                                   "/var/lib/hutch",
                                   "/var/backups",
                                   "/var/spool/cron",
                                   "/var/spool/at",
                                   "/var/lib/containerd",
                                   "/var/lib/containers",
                                   "/var/lib/docker",
                                   "/var/lib/kubelet"};
constexpr const char* kSystemPrograms[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"};

// Below a home. Keys and tokens; what browsers and password stores keep; and hutch's configuration,
// which says what is granted.
constexpr const char* kSecrets[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".netrc",
    ".git-credentials",
    ".local/share/keyrings",
    ".local/state/hutch",
    ".config/hutch",
    ".config/gh",
    ".config/gcloud",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/opera",
    ".config/vivaldi",
    ".config/op",
    ".config/1Password",
    ".config/Bitwarden",
    ".cache/mozilla",
    ".cache/google-chrome",
    ".cache/chromium",
    ".var/app",
    "snap/firefox",
    "snap/chromium",
};
// Programs and settings that the user's next login obeys.
constexpr const char* kObeyed[] = {
    "bin",        ".agents",      ".cargo",  ".claude", ".cline",        ".codeium",  ".codex",
    ".config",    ".copilot",     ".cursor", ".gemini", ".kiro",         ".lmstudio", ".local/bin",
    ".local/lib", ".local/share", ".qwen",   ".vscode", ".vscode-server"};

// Returns whether `path` is `directory` or lies in it.
bool is_in(const std::string& path, const std::string& directory) {
  if (directory == "/" || path == directory) return true;
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

bool same_directory(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Also by another name: a bind mount of it, or of something in it.
bool lies_in(const std::string& path, const std::string& place) {
  if (is_in(path, place)) return true;
  struct stat there {};
  if (::stat(place.c_str(), &there) != 0) return false;
  for (std::string up = path; up.size() > 1; up.resize(std::max<std::size_t>(up.rfind('/'), 1))) {
    struct stat status {};
    if (::stat(up.c_str(), &status) == 0 && same_directory(status, there)) return true;
  }
  return false;
}

base::Status check_against(const std::string& path, const std::vector<std::string>& places,
                           const char* never) {
  for (const std::string& named : places) {
    for (const std::string& place : {named, base::real_path(named).value_or(named)}) {
      if (lies_in(path, place)) return base::invalid(path + " is " + never + ": it is in " + named);
      if (lies_in(place, path)) {
        return base::invalid(path + " is " + never + ": it holds " + named +
                             ". Grant a folder in it instead");
      }
    }
  }
  return base::done();
}

// "\040" and the like, as the kernel writes spaces in mountinfo.
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size();
    plain += escaped ? static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8))
                     : text[i];
    if (escaped) i += 3;
  }
  return plain;
}

// A mount below is not granted with the folder, and as an ordinary user cannot be left out.
base::Status check_mounts_below(const std::string& path) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string target;
    for (int i = 0; i < 5; ++i) fields >> target;
    target = without_escapes(target);
    if (target != path && is_in(target, path)) {
      return base::invalid(path + " cannot be granted: another file system is mounted in it, at " +
                           target + ". Grant folders that have none in them");
    }
  }
  return base::done();
}

std::vector<std::string> homes_in(const std::string& passwd_file) {
  std::vector<std::string> homes;
  std::ifstream file(passwd_file);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string home;
    for (int i = 0; i < 6; ++i) std::getline(fields, home, ':');
    if (home.starts_with('/')) homes.push_back(home);
  }
  return homes;
}

std::string in(const std::string& directory, const char* name) {
  return (directory.ends_with('/') ? directory : directory + "/") + name;
}

}  // namespace

HostPlaces system_places() {
  HostPlaces places;
  places.never.assign(std::begin(kSystem), std::end(kSystem));
  places.never_writable.assign(std::begin(kSystemPrograms), std::end(kSystemPrograms));
  return places;
}

void add_home(HostPlaces& places, const std::string& home) {
  for (const char* name : kSecrets) places.never.push_back(in(home, name));
  for (const char* name : kObeyed) places.never_writable.push_back(in(home, name));
}

void add_other_homes(HostPlaces& places, const std::string& passwd_file) {
  const auto add_present = [](std::vector<std::string>& list, const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) list.push_back(path);
  };
  for (const std::string& home : homes_in(passwd_file)) {
    for (const char* name : kSecrets) add_present(places.never, in(home, name));
    for (const char* name : kObeyed) add_present(places.never_writable, in(home, name));
  }
}

base::Result<HostFolder> check_folder(HostFolder folder, const HostPlaces& places,
                                      const std::string& here) {
  if (!folder.path.starts_with('/')) folder.path = here + "/" + folder.path;
  const auto real = base::real_path(folder.path);
  if (!real) {
    return Error::from_errno("grant " + folder.path, Error::Kind::kInvalid);
  }
  struct stat status {};
  if (::lstat(real->c_str(), &status) != 0) {
    return Error::from_errno("grant " + *real, Error::Kind::kInvalid);
  }
  if (!S_ISDIR(status.st_mode)) {
    return base::invalid(*real + " is not a folder: grant the one it is in");
  }
  // The target of a link may be changed later, by code that was granted the folder the link is in.
  std::string plain = std::filesystem::path(folder.path).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  if (plain != *real) {
    return base::invalid(folder.path + " leads through a link: grant " + *real + " by that name");
  }
  folder.path = *real;
  folder.device = status.st_dev;
  folder.inode = status.st_ino;
  TRY(check_against(folder.path, places.never, "never granted"));
  if (folder.writable) {
    TRY(check_against(folder.path, places.never_writable, "never granted for writing"));
  }
  for (const char* secret : {"/.ssh/", "/.gnupg/"}) {
    if ((folder.path + "/").find(secret) != std::string::npos) {
      return base::invalid(folder.path + " is never granted: it is somebody's keys");
    }
  }
  TRY(check_mounts_below(folder.path));
  return folder;
}

base::Result<std::vector<HostFolder>> check_folders(std::vector<HostFolder> folders,
                                                    const HostPlaces& places,
                                                    const std::string& here) {
  if (folders.size() > kHostFoldersMax) {
    return base::invalid("at most " + std::to_string(kHostFoldersMax) + " folders can be granted");
  }
  std::vector<HostFolder> checked;
  for (HostFolder& wanted : folders) {
    HostFolder folder = TRY(check_folder(std::move(wanted), places, here));
    for (const HostFolder& other : checked) {
      if (other.name == folder.name) {
        return base::invalid("two folders would be /mnt/" + folder.name + ": " + other.path +
                             " and " + folder.path +
                             ". Name one otherwise: NAME=PATH, or in [mounts]");
      }
      // Code with the outer one could put something else in the place of the inner one.
      if (is_in(folder.path, other.path) || is_in(other.path, folder.path)) {
        return base::invalid(folder.path + " and " + other.path +
                             " cannot both be granted: one is in the other");
      }
    }
    checked.push_back(std::move(folder));
  }
  return checked;
}

}  // namespace sandbox
