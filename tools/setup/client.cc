#include "tools/setup/client.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/private_file.h"
#include "base/text.h"

namespace tools::setup {

using base::Error;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

void replace_first(std::string& text, const std::string& name, const std::string& value) {
  if (text.starts_with(name)) text.replace(0, name.size(), value);
}

// Returns a path of the table, in which places are named, with these filled in.
std::string whole(std::string path, const Places& places) {
  replace_first(path, "~", places.home);
  replace_first(path, "$CONFIG", places.config);
  replace_first(path, "$APPDATA", places.windows_profile + "/AppData/Roaming");
  replace_first(path, "$PROFILE", places.windows_profile);
  return path;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_in_path(const std::string& program, const std::string& search_path) {
  for (const std::string_view one : base::split(search_path, ':')) {
    const std::string path = std::string(one) + "/" + program;
    if (one.starts_with('/') && ::access(path.c_str(), X_OK) == 0) return true;
  }
  return false;
}

ordered_json filled(const ordered_json& value, const std::vector<std::string>& words) {
  if (value == "$COMMAND") return words[0];
  if (value == "$ARGS") return std::vector<std::string>(words.begin() + 1, words.end());
  if (value == "$WORDS") return words;
  if (!value.is_object()) return value;
  ordered_json object = ordered_json::object();
  for (const auto& [name, member] : value.items()) object[name] = filled(member, words);
  return object;
}

Format format_of(const std::string& name) {
  if (name == "toml") return Format::kToml;
  return name == "yaml" ? Format::kYaml : Format::kJson;
}

bool has_sign(const ordered_json& row, const char* which, const Places& places) {
  const auto signs = row.value(which, std::vector<std::string>());
  return std::any_of(signs.begin(), signs.end(),
                     [&](const auto& sign) { return exists(whole(sign, places)); });
}

Client client_of(const ordered_json& row, const Places& places,
                 const std::vector<std::string>& words) {
  Client client;
  client.id = row.at("id");
  client.title = row.at("title");
  client.file = whole(row.at("file"), places);
  const std::string elsewhere = places.variable(row.value("directory_variable", ""));
  if (elsewhere.starts_with('/')) {
    client.file = elsewhere + client.file.substr(client.file.rfind('/'));
  }
  client.format = format_of(row.at("format"));
  client.keys = row.at("keys").get<Keys>();
  client.entry = filled(row.at("entry"), words).dump();
  client.next = row.at("next");
  const auto programs = row.value("programs", std::vector<std::string>());
  client.is_there = has_sign(row, "signs", places) ||
                    std::any_of(programs.begin(), programs.end(), [&](const auto& program) {
                      return is_in_path(program, places.search_path);
                    });
  return client;
}

}  // namespace

std::string windows_profile(const std::string& users) {
  std::string found;
  std::error_code ignored;
  for (const auto& user : std::filesystem::directory_iterator(users, ignored)) {
    const std::string path = user.path().string();
    const std::string name = user.path().filename().string();
    if (name == "Public" || name == "Default" || name == "All Users" || name == "Default User")
      continue;
    if (!exists(path + "/AppData/Roaming") || ::access(path.c_str(), W_OK) != 0) continue;
    if (!found.empty()) return "";  // whose it is cannot be told
    found = path;
  }
  return found;
}

base::Result<std::vector<Client>> known_clients(const std::string& table_file, const Places& places,
                                                const std::vector<std::string>& words) {
  const auto table = ordered_json::parse(TRY(base::content_of_file(table_file)), nullptr, false);
  std::vector<Client> clients;
  try {
    for (const ordered_json& row : table) clients.push_back(client_of(row, places, words));
    if (places.windows_profile.empty()) return clients;
    std::vector<std::string> from_windows = {"wsl.exe", "-d", places.distribution, "-e"};
    from_windows.insert(from_windows.end(), words.begin(), words.end());
    for (const ordered_json& row : table) {
      if (!row.contains("windows_file")) continue;
      Client client = client_of(row, places, from_windows);
      client.id += "-windows";
      client.title += " (Windows)";
      client.file = whole(row.at("windows_file"), places);
      client.is_there = has_sign(row, "windows_signs", places);
      clients.push_back(std::move(client));
    }
  } catch (const ordered_json::exception& failure) {
    return base::error(Error::Kind::kInvalid, table_file + ": " + failure.what());
  }
  return clients;
}

std::vector<std::string> words_of_entry(const json& entry) {
  std::vector<std::string> words;
  const auto take = [&words](const json& value) {
    if (value.is_string()) words.push_back(value);
    for (const json& one : value.is_array() ? value : json::array()) {
      if (one.is_string()) words.push_back(one);
    }
  };
  for (const char* name : {"command", "cmd", "args"}) {
    if (entry.is_object() && entry.contains(name)) take(entry.at(name));
  }
  return words;
}

}  // namespace tools::setup
