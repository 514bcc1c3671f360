// Folders of the host: which of those that the operator grants a session gets. Its row has what was
// asked for; each time its box starts, that is cut with what is granted then.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "sandbox/shortened_text.h"
#include "sandbox/wire/json.h"
#include "sessions/manager.h"

namespace sessions {

using base::Error;
using nlohmann::json;
using sandbox::HostFolder;

namespace {

constexpr std::size_t kPathBytesMax = 1024;

Error invalid(const std::string& message) { return base::error(Error::Kind::kInvalid, message); }

std::string list_of(const std::vector<HostFolder>& folders) {
  std::string text;
  for (const HostFolder& folder : folders) {
    text += (text.empty() ? "" : ", ") + sandbox::place_of(folder) +
            (folder.writable ? "" : " (read-only)");
  }
  return text.empty() ? "none" : text;
}

// The lines that would allow it. Where it is on the host is for the operator to say.
std::string remedy(const std::string& name, bool writable) {
  const std::string mode = writable ? ":rw" : "";
  return "whoever runs hutch can grant it with --mount " + name + "=PATH" + mode +
         ", or in the configuration with [mounts] " + name + " = \"PATH" + mode + "\"";
}

const HostFolder* find_named(const std::vector<HostFolder>& folders, const std::string& name) {
  const auto found = std::find_if(folders.begin(), folders.end(),
                                  [&name](const HostFolder& f) { return f.name == name; });
  return found == folders.end() ? nullptr : &*found;
}

// "NAME" or "/mnt/NAME".
std::string name_in(const std::string& given) {
  std::string name = given.starts_with("/mnt/") ? given.substr(5) : given;
  while (name.ends_with('/')) name.pop_back();
  return name;
}

bool is_in_workspace(const std::string& given) { return given.starts_with("/workspace"); }

base::Result<std::vector<std::string>> texts_of(const json& filesystem, const char* key) {
  std::vector<std::string> texts;
  const json value = filesystem.value(key, json::array());
  const Error malformed =
      invalid(std::string("filesystem.") + key + " must be an array of at most " +
              std::to_string(sandbox::kHostFoldersMax) + " strings");
  if (!value.is_array() || value.size() > sandbox::kHostFoldersMax) return malformed;
  for (const json& entry : value) {
    if (!entry.is_string() || entry.get_ref<const std::string&>().size() > kPathBytesMax ||
        entry.get_ref<const std::string&>().find('\0') != std::string::npos) {
      return malformed;
    }
    texts.push_back(entry.get<std::string>());
  }
  return texts;
}

base::Status check_keys(const json& filesystem) {
  if (!filesystem.is_object()) return invalid("filesystem must be an object");
  for (const auto& [key, value] : filesystem.items()) {
    if (key != "read_only" && key != "read_write" && key != "blocked") {
      return invalid("unknown key filesystem." + sandbox::echoed(key) +
                     "; there are: read_only, read_write, blocked");
    }
  }
  return base::done();
}

base::Status pick(const json& filesystem, bool writable, const std::vector<HostFolder>& granted,
                  std::vector<HostFolder>& chosen) {
  const std::string key = writable ? "read_write" : "read_only";
  for (const std::string& given : TRY(texts_of(filesystem, key.c_str()))) {
    if (is_in_workspace(given)) continue;  // choose_paths()
    const std::string name = name_in(given);
    // A path of the host is no name, whatever is granted.
    const std::string place = name.starts_with('/') ? name : "/mnt/" + name;
    const std::string shown = "filesystem." + key + ": " + sandbox::echoed(place);
    const HostFolder* folder = find_named(granted, name);
    if (folder == nullptr) {
      const bool good = sandbox::check_folder_name(name).ok();
      return invalid(shown + " is not granted here; granted are: " + list_of(granted) + "; " +
                     remedy(good ? name : "NAME", writable));
    }
    if (writable && !folder->writable) {
      return invalid(shown + " is granted for reading only; " + remedy(name, true));
    }
    if (find_named(chosen, name) != nullptr) return invalid(shown + " is named twice");
    chosen.push_back(*folder);
    chosen.back().writable = writable;
  }
  return base::done();
}

// A path below /mnt/NAME, without empty parts, "." and "..", which would be another path.
bool is_plain(const std::string& path) {
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

base::Status block(const json& filesystem, std::vector<HostFolder>& chosen) {
  for (std::string path : TRY(texts_of(filesystem, "blocked"))) {
    if (sandbox::is_own_path(path)) continue;  // choose_paths()
    const std::string shown = "filesystem.blocked: " + sandbox::echoed(path);
    path = name_in(path);
    const std::size_t slash = path.find('/');
    const std::string name = path.substr(0, slash);
    const auto folder = std::find_if(chosen.begin(), chosen.end(),
                                     [&name](const HostFolder& f) { return f.name == name; });
    if (folder == chosen.end()) {
      return invalid(shown + " is in no folder of the session; those are: " + list_of(chosen));
    }
    if (slash == std::string::npos) {
      return invalid(shown + " is a whole folder: name the others in read_only and read_write");
    }
    const std::string below = path.substr(slash + 1);
    if (!is_plain(below)) return invalid(shown + " must be a plain path, as /mnt/NAME/a/b");
    if (folder->blocked.size() == sandbox::kBlockedPathsMax) {
      return invalid(shown + " is one too many: at most " +
                     std::to_string(sandbox::kBlockedPathsMax) + " in a folder");
    }
    folder->blocked.push_back(below);
  }
  return base::done();
}

// An empty list is a choice; one of paths in /workspace alone says nothing of folders.
bool picks_folders(const json& filesystem, const char* key) {
  const auto found = filesystem.find(key);
  if (found == filesystem.end()) return false;
  return found->empty() || std::any_of(found->begin(), found->end(), [](const json& entry) {
           return !is_in_workspace(entry.get_ref<const std::string&>());
         });
}

}  // namespace

base::Result<std::optional<std::string>> Manager::choose_folders(const std::string& text) const {
  if (text.empty()) return std::optional<std::string>();
  const json filesystem = TRY(sandbox::wire::parse_json(text));
  if (filesystem.is_null() || filesystem.empty()) return std::optional<std::string>();
  TRY(check_keys(filesystem));
  const auto& granted = config_.folders.all;
  std::vector<HostFolder> chosen;
  TRY(pick(filesystem, false, granted, chosen));
  TRY(pick(filesystem, true, granted, chosen));
  const bool picks =
      picks_folders(filesystem, "read_only") || picks_folders(filesystem, "read_write");
  if (!picks && config_.folders.unasked) chosen = granted;
  TRY(block(filesystem, chosen));
  return std::optional<std::string>(sandbox::wire::print_json(sandbox::folders_to_json(chosen)));
}

base::Result<Manager::Folders> Manager::folders_of(const Session& session) const {
  const GrantedFolders& granted = config_.folders;
  Folders result;
  std::vector<HostFolder> wanted;
  if (session.host_folders) {
    const json row = TRY(sandbox::wire::parse_json(*session.host_folders));
    wanted = TRY(sandbox::folders_from_json(row));
  } else if (granted.unasked) {
    wanted = granted.all;
  }
  const auto tell = [&result](const std::string& what) {
    result.note += (result.note.empty() ? "" : "; ") + what;
  };
  for (HostFolder& folder : wanted) {
    const HostFolder* now = find_named(granted.all, folder.name);
    const std::string place = sandbox::place_of(folder);
    if (now == nullptr || now->path != folder.path) {
      tell(place + " is missing, since it is not granted any more; " +
           remedy(folder.name, folder.writable));
      continue;
    }
    if (folder.writable && !now->writable) {
      folder.writable = false;
      tell(place + " is read-only now; " + remedy(folder.name, true));
    }
    const auto checked = granted.look_again(folder);
    if (!checked.ok()) {
      // Only who is at this machine is told of its paths.
      tell(place + " is missing: " +
           (granted.unasked ? checked.error().message : "the host does not have it as it was"));
      continue;
    }
    result.folders.push_back(checked.value());
  }
  return result;
}

}  // namespace sessions
