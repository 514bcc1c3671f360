#include "tools/api/e2b/entry.h"

#include <sys/stat.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "tools/text_window.h"

namespace tools::api::e2b {

using nlohmann::json;
using sandbox::files::BoxFiles;

namespace {

// As ls(1) has them.
std::string permissions_of(mode_t mode, bool is_directory) {
  std::string text = is_directory ? "d" : "-";
  for (int shift = 6; shift >= 0; shift -= 3) {
    const mode_t bits = mode >> static_cast<unsigned>(shift);
    text += (bits & 4U) != 0 ? 'r' : '-';
    text += (bits & 2U) != 0 ? 'w' : '-';
    text += (bits & 1U) != 0 ? 'x' : '-';
  }
  return text;
}

json entry(const std::string& path, bool is_directory, std::int64_t bytes,
           std::int64_t modified_at_ms, mode_t mode) {
  return {{"name", base::name_of_path(path)},
          {"path", path},
          {"type", is_directory ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_FILE"},
          {"size", std::to_string(bytes)},
          {"mode", mode},
          {"permissions", permissions_of(mode, is_directory)},
          {"owner", "user"},
          {"group", "user"},
          {"modifiedTime", base::to_rfc3339(modified_at_ms)}};
}

constexpr std::size_t kMetadataBytesMax = 16U << 10;  // for one entry

void add_metadata(json& found, const BoxFiles& files, const std::string& path, MetadataRoom& room) {
  const std::size_t most = std::min(room.bytes_left, kMetadataBytesMax);
  if (most == 0) return;
  const auto attributes = files.attributes_of(path, kMetadataPrefix, most);
  if (!attributes.ok()) return;  // it has gone meanwhile
  for (const auto& [name, value] : attributes.value()) {
    room.bytes_left -= std::min(room.bytes_left, name.size() + value.size());
    found["metadata"][to_utf8(name)] = to_utf8(value);
  }
}

}  // namespace

base::Result<json> entry_at(const BoxFiles& files, const std::string& path) {
  MetadataRoom room;
  return entry_at(files, path, room);
}

base::Result<json> entry_at(const BoxFiles& files, const std::string& path, MetadataRoom& room) {
  const struct stat status = TRY(files.status_of(path));
  const bool is_directory = S_ISDIR(status.st_mode);
  const std::int64_t modified_at_ms =
      std::int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
  json found = entry(path, is_directory, status.st_size, modified_at_ms, status.st_mode & 07777U);
  if (std::string target = TRY(files.link_target_of(path)); !target.empty()) {
    found["symlinkTarget"] = std::move(target);
    found["isSymlink"] = true;
  }
  add_metadata(found, files, path, room);
  return found;
}

json listed_entry(const BoxFiles& files, const sandbox::files::ListEntry& listed,
                  MetadataRoom& room) {
  json found = entry(listed.path, listed.type == "directory", listed.bytes, listed.modified_at_ms,
                     listed.mode);
  if (listed.type == "file") add_metadata(found, files, listed.path, room);
  if (listed.type == "symlink") found["isSymlink"] = true;
  return found;
}

}  // namespace tools::api::e2b
