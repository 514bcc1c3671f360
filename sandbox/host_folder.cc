#include "sandbox/host_folder.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kNameBytesMax = 64;

// Takes ":ro" or ":rw" off the end.
bool take_mode(std::string& path) {
  const bool writable = path.ends_with(":rw");
  if (writable || path.ends_with(":ro")) path.resize(path.size() - 3);
  return writable;
}

}  // namespace

std::string place_of(const HostFolder& folder) { return "/mnt/" + folder.name; }

base::Status check_folder_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
                    name.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.") == std::string::npos;
  if (!good) {
    return base::invalid("\"" + name +
                         "\" cannot be the name of a folder in /mnt, which has at most 64 letters, "
                         "digits, '-', '_' or '.': give another as NAME=PATH, or in [mounts]");
  }
  if (name == "data") {
    return base::invalid(
        "the name \"data\" is taken: in every session /mnt/data is /workspace. Give another as "
        "NAME=PATH, or in [mounts]");
  }
  return base::done();
}

base::Result<HostFolder> parse_folder(const std::string& name, const std::string& path_and_mode) {
  HostFolder folder;
  folder.path = path_and_mode;
  folder.writable = take_mode(folder.path);
  folder.name = name;
  while (folder.path.size() > 1 && folder.path.ends_with('/')) folder.path.pop_back();
  if (folder.path.empty()) return base::invalid("a mount must name a folder: PATH or PATH:rw");
  if (folder.path.find('\0') != std::string::npos) {
    return base::invalid("a path must not hold a NUL");
  }
  if (folder.name.empty()) folder.name = base::name_of_path(folder.path);
  TRY(check_folder_name(folder.name));
  return folder;
}

base::Result<HostFolder> parse_folder(const std::string& text) {
  const std::size_t equals = text.find('=');
  // "dir/a=b" is a path.
  if (equals == std::string::npos || text.find('/') < equals) return parse_folder("", text);
  const std::string name = text.substr(0, equals);
  TRY(check_folder_name(name));
  return parse_folder(name, text.substr(equals + 1));
}

json folders_to_json(const std::vector<HostFolder>& folders) {
  json all = json::array();
  for (const HostFolder& folder : folders) {
    all.push_back({{"name", folder.name},
                   {"path", folder.path},
                   {"writable", folder.writable},
                   {"blocked", folder.blocked},
                   {"device", folder.device},
                   {"inode", folder.inode}});
  }
  return all;
}

base::Result<std::vector<HostFolder>> folders_from_json(const json& value) {
  std::vector<HostFolder> folders;
  const Error malformed = base::invalid("host folders: malformed");
  if (value.is_null()) return folders;
  if (!value.is_array() || value.size() > kHostFoldersMax) return malformed;
  for (const json& entry : value) {
    HostFolder& folder = folders.emplace_back();
    folder.name = base::string_or(entry, "name");
    folder.path = base::string_or(entry, "path");
    folder.writable = base::boolean_or(entry, "writable", false);
    TRY(check_folder_name(folder.name));
    const json blocked = entry.value("blocked", json::array());
    const json device = entry.value("device", json());
    const json inode = entry.value("inode", json());
    if (!folder.path.starts_with('/') || !blocked.is_array() || blocked.size() > kBlockedPathsMax ||
        !device.is_number_unsigned() || !inode.is_number_unsigned()) {
      return malformed;
    }
    for (const json& path : blocked) {
      if (!path.is_string()) return malformed;
      folder.blocked.push_back(path.get<std::string>());
    }
    folder.device = device.get<std::uint64_t>();
    folder.inode = inode.get<std::uint64_t>();
  }
  return folders;
}

}  // namespace sandbox
