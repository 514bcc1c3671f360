#include "sessions/filesystem_choice.h"

#include <algorithm>

#include "base/shortened_text.h"
#include "base/text.h"

namespace sessions {

using sandbox::HostFolder;
using sandbox::PathRules;

namespace {

using Texts = std::optional<std::vector<std::string>>;

constexpr std::size_t kPathBytesMax = 1024;

std::string list_of(const std::vector<HostFolder>& folders) {
  std::string text;
  for (const HostFolder& folder : folders) {
    base::append_part(text, sandbox::place_of(folder) + (folder.writable ? "" : " (read-only)"));
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

std::vector<std::string> entries_of(const Texts& texts) {
  return texts.value_or(std::vector<std::string>());
}

base::Status check_entries(const Texts& texts, const char* key) {
  const std::vector<std::string> entries = entries_of(texts);
  const bool good = entries.size() <= sandbox::kHostFoldersMax &&
                    std::all_of(entries.begin(), entries.end(), [](const std::string& entry) {
                      return entry.size() <= kPathBytesMax && entry.find('\0') == std::string::npos;
                    });
  if (good) return base::done();
  return base::invalid(std::string("filesystem.") + key + " must be an array of at most " +
                       std::to_string(sandbox::kHostFoldersMax) + " strings");
}

base::Status check(const FilesystemWish& wish) {
  TRY(check_entries(wish.read_only, "read_only"));
  TRY(check_entries(wish.read_write, "read_write"));
  return check_entries(wish.blocked, "blocked");
}

base::Status pick(const Texts& wished, bool writable, const std::vector<HostFolder>& granted,
                  std::vector<HostFolder>& chosen) {
  const std::string key = writable ? "read_write" : "read_only";
  for (const std::string& given : entries_of(wished)) {
    if (is_in_workspace(given)) continue;  // choose_paths()
    const std::string name = name_in(given);
    // A path of the host is no name, whatever is granted.
    const std::string place = name.starts_with('/') ? name : "/mnt/" + name;
    const std::string shown = "filesystem." + key + ": " + base::echoed(place);
    const HostFolder* folder = find_named(granted, name);
    if (folder == nullptr) {
      const bool good = sandbox::check_folder_name(name).ok();
      return base::invalid(shown + " is not granted here; granted are: " + list_of(granted) + "; " +
                           remedy(good ? name : "NAME", writable));
    }
    if (writable && !folder->writable) {
      return base::invalid(shown + " is granted for reading only; " + remedy(name, true));
    }
    if (find_named(chosen, name) != nullptr) return base::invalid(shown + " is named twice");
    chosen.push_back(*folder);
    chosen.back().writable = writable;
  }
  return base::done();
}

base::Status block(const Texts& wished, std::vector<HostFolder>& chosen) {
  for (std::string path : entries_of(wished)) {
    if (sandbox::is_own_path(path)) continue;  // choose_paths()
    const std::string shown = "filesystem.blocked: " + base::echoed(path);
    path = name_in(path);
    const std::size_t slash = path.find('/');
    const std::string name = path.substr(0, slash);
    const auto folder = std::find_if(chosen.begin(), chosen.end(),
                                     [&name](const HostFolder& f) { return f.name == name; });
    if (folder == chosen.end()) {
      return base::invalid(shown +
                           " is in no folder of the session; those are: " + list_of(chosen));
    }
    if (slash == std::string::npos) {
      return base::invalid(shown +
                           " is a whole folder: name the others in read_only and read_write");
    }
    const std::string below = path.substr(slash + 1);
    if (!sandbox::has_plain_parts(below)) {
      return base::invalid(shown + " must be a plain path, as /mnt/NAME/a/b");
    }
    if (folder->blocked.size() == sandbox::kBlockedPathsMax) {
      return base::invalid(shown + " is one too many: at most " +
                           std::to_string(sandbox::kBlockedPathsMax) + " in a folder");
    }
    folder->blocked.push_back(below);
  }
  return base::done();
}

// An empty list is a choice; one of paths in /workspace alone says nothing of folders.
bool picks_folders(const Texts& wished) {
  return wished &&
         (wished->empty() || !std::all_of(wished->begin(), wished->end(), is_in_workspace));
}

// The entries that are paths of the session's own tree; choose_folders() has the others.
std::vector<std::string> own_paths(const Texts& wished) {
  std::vector<std::string> paths;
  for (std::string path : entries_of(wished)) {
    if (!sandbox::is_own_path(path)) continue;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

base::Result<std::optional<std::vector<HostFolder>>> choose_folders(const FilesystemWish& wish,
                                                                    const GrantedFolders& granted) {
  if (wish.empty()) return std::optional<std::vector<HostFolder>>();
  TRY(check(wish));
  std::vector<HostFolder> chosen;
  TRY(pick(wish.read_only, false, granted.all, chosen));
  TRY(pick(wish.read_write, true, granted.all, chosen));
  const bool picks = picks_folders(wish.read_only) || picks_folders(wish.read_write);
  if (!picks && granted.unasked) chosen = granted.all;
  TRY(block(wish.blocked, chosen));
  return std::optional(std::move(chosen));
}

base::Result<PathRules> choose_paths(const FilesystemWish& wish) {
  TRY(check(wish));
  PathRules rules{.read_only = own_paths(wish.read_only),
                  .read_write = own_paths(wish.read_write),
                  .blocked = own_paths(wish.blocked)};
  TRY(sandbox::check_path_rules(rules));
  return rules;
}

FoldersNow granted_now(const std::optional<std::vector<HostFolder>>& choice,
                       const GrantedFolders& granted) {
  FoldersNow result;
  std::vector<HostFolder> wanted;
  if (choice) {
    wanted = *choice;
  } else if (granted.unasked) {
    wanted = granted.all;
  }
  const auto tell = [&result](const std::string& what) {
    base::append_part(result.note, what, "; ");
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
