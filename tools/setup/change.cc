#include "tools/setup/change.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/draft.h"
#include "base/fd.h"
#include "base/json.h"

namespace tools::setup {

using base::Error;
using nlohmann::json;

namespace {

constexpr std::size_t kFileBytesMax = 32 << 20;

struct Text {
  std::string path;  // without links
  std::string text;
  bool is_there = false;
  mode_t mode = 0600;
};

base::Result<Text> read_config(const std::string& path) {
  Text found;
  std::error_code failure;
  // A link, as of those who keep their files elsewhere, stays one.
  found.path = std::filesystem::weakly_canonical(path, failure).string();
  if (failure) return base::error(Error::Kind::kInvalid, path + ": " + failure.message());
  auto file = base::open_file(AT_FDCWD, found.path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) {
    struct stat link {};
    const bool dangles = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    if (file.error().os_errno == ENOENT && !dangles) return found;
    return std::move(file).error();
  }
  struct stat status {};
  if (::fstat(file.value().get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::error(Error::Kind::kInvalid, found.path + " is no file");
  }
  found.text = TRY(base::read_all(file.value().get(), kFileBytesMax));
  found.mode = status.st_mode & 07777;
  found.is_there = true;
  return found;
}

// Over what is there, or as a new file; the owner, as root has it written, stays.
base::Status write_whole(const std::string& path, const std::string& text, mode_t mode) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = path.substr(0, slash);
  const base::UniqueFd parent = TRY(base::open_file(AT_FDCWD, directory, O_PATH | O_DIRECTORY));
  struct stat old {};
  const bool was_there = ::stat(path.c_str(), &old) == 0;
  if (was_there && ::access(path.c_str(), W_OK) != 0) return Error::from_errno("write " + path);
  base::Draft draft(parent.get());
  int failure = draft.fill(text, mode);
  if (failure == 0) failure = draft.publish_over(path.substr(slash + 1));
  if (failure != 0) {
    errno = failure;
    return Error::from_errno("write " + path);
  }
  // Root can leave it to whom it belongs; who else may write it cannot.
  if (was_there && ::geteuid() == 0 && ::chown(path.c_str(), old.st_uid, old.st_gid) != 0) {
    return Error::from_errno("leave " + path + " to its owner");
  }
  return base::done();
}

std::string record_file(const Client& client, const std::string& records) {
  return records + "/" + client.id + ".json";
}

base::Result<json> read_record(const Client& client, const std::string& records) {
  const Text text = TRY(read_config(record_file(client, records)));
  return text.is_there ? TRY(base::parse_json(text.text)) : json();
}

Keys whole_keys(const Client& client) {
  Keys keys = client.keys;
  keys.emplace_back(kEntryName);
  return keys;
}

base::Error in_file(base::Error&& error, const std::string& path) {
  return std::move(error).context(path + " is left as it is");
}

base::Status check_unchanged(const Change& change) {
  const Text now = TRY(read_config(change.file));
  if (now.is_there == change.was_there && now.text == change.before) return base::done();
  return base::error(Error::Kind::kConflict,
                     change.file + " has changed meanwhile; nothing was written: try again");
}

base::Status make_directories_of(const std::string& path) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  if (failure)
    return base::error(Error::Kind::kInvalid,
                       "make the directory of " + path + ": " + failure.message());
  return base::done();
}

}  // namespace

namespace {

// Returns whether all that is `wanted` is in the entry. More that a client or its user adds to it
// (what is always allowed, a time-out, variables) does not make it another's.
bool includes(const json& there, const json& wanted) {
  if (!there.is_object() || !wanted.is_object()) return there == wanted;
  return std::all_of(wanted.items().begin(), wanted.items().end(), [&there](const auto& member) {
    return there.contains(member.key()) && there[member.key()] == member.value();
  });
}

// Reads `entry`, which is JSON, as a document of the format has it: YAML's scalars are strings.
json as_in(Format format, const std::string& entry) {
  const auto parsed = parse_document(format == Format::kYaml ? format : Format::kJson, entry);
  return parsed.ok() ? parsed.value() : json();
}

bool is_of_setup(const json& there, const json& record, Format format) {
  const std::string written = base::string_or(record, "entry");
  return !written.empty() && includes(there, as_in(format, written));
}

// `now` without the entry: to the byte where it stands as it was written, else by its format.
base::Result<std::string> taken_out(const Client& client, const json& record, const Text& now) {
  const json before = TRY(parse_document(client.format, now.text));
  const std::string text = base::string_or(record, "text");
  auto at = static_cast<std::size_t>(base::integer_or(record, "at", 0));
  if (text.empty() || now.text.compare(std::min(at, now.text.size()), text.size(), text) != 0) {
    at = text.empty() ? std::string::npos : now.text.find(text);
  }
  if (at != std::string::npos) {
    std::string rest = now.text;
    rest.erase(at, text.size());
    // Its lines may be there, and others behind them be of the same entry.
    const auto after = parse_document(client.format, rest);
    if (after.ok() && is_without(after.value(), before, client.keys, kEntryName)) return rest;
  }
  return without_entry(client.format, now.text, client.keys, kEntryName);
}

// Where the two differ.
Replaced what_went(const std::string& before, const std::string& after) {
  const auto [old, now] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  Replaced replaced;
  replaced.at = static_cast<std::size_t>(old - before.begin());
  std::size_t same = 0;
  const std::size_t most = std::min(before.size(), after.size()) - replaced.at;
  while (same < most && before[before.size() - 1 - same] == after[after.size() - 1 - same]) ++same;
  replaced.text = before.substr(replaced.at, before.size() - same - replaced.at);
  replaced.rest = after.substr(replaced.at, after.size() - same - replaced.at);
  return replaced;
}

// With the entry that setup's took the place of, if it still has a place.
std::string with_replaced(const Client& client, const Replaced& replaced, const std::string& text) {
  if (replaced.text.empty() || replaced.at > text.size()) return text;
  if (text.compare(replaced.at, replaced.rest.size(), replaced.rest) != 0) return text;
  std::string whole = text;
  whole.replace(replaced.at, replaced.rest.size(), replaced.text);
  const auto without = parse_document(client.format, text);
  const auto with = parse_document(client.format, whole);
  const bool fits = without.ok() && with.ok() &&
                    is_without(without.value(), with.value(), client.keys, kEntryName);
  return fits ? whole : text;
}

Replaced replaced_in(const json& record) {
  const json said = record.is_object() ? record.value("replaced", json::object()) : json::object();
  return {static_cast<std::size_t>(base::integer_or(said, "at", 0)), base::string_or(said, "text"),
          base::string_or(said, "rest")};
}

// Returns the entry that is asked for, with what has been added to the one that it takes the place
// of. YAML's scalars have lost what they were, so nothing is taken over from it.
nlohmann::ordered_json entry_beside(const Client& client, const json& there, const json& record) {
  auto entry = nlohmann::ordered_json::parse(client.entry);
  if (client.format == Format::kYaml) return entry;
  const json written = as_in(client.format, base::string_or(record, "entry"));
  for (const auto& [name, value] : there.items()) {
    if (!entry.contains(name) && !written.contains(name)) entry[name] = value;
  }
  return entry;
}

}  // namespace

base::Result<Change> plan_addition(const Client& client, const std::string& records,
                                   bool replaces) {
  const Text old = TRY(read_config(client.file));
  Change change;
  change.file = old.path;
  change.before = change.after = old.text;
  change.was_there = change.stays = old.is_there;
  auto document = parse_document(client.format, old.text);
  if (!document.ok()) return in_file(std::move(document).error(), old.path);
  const json there = value_at(document.value(), whole_keys(client));
  const json record = TRY(read_record(client, records));
  auto entry = nlohmann::ordered_json::parse(client.entry);
  std::string rest = old.text;
  if (!there.is_null()) {
    change.is_needed = !includes(there, as_in(client.format, client.entry));
    if (!change.is_needed) return change;
    change.goes_on = is_of_setup(there, record, client.format);
    if (!change.goes_on && !replaces) {
      return base::error(Error::Kind::kConflict,
                         old.path +
                             " has another entry \"hutch\" already, and setup did not write it so: "
                             "with --replace this one takes its place");
    }
    auto without = taken_out(client, change.goes_on ? record : json(), old);
    if (!without.ok()) return in_file(std::move(without).error(), old.path);
    rest = without.value();
    change.replaced = change.goes_on ? replaced_in(record) : what_went(old.text, rest);
    if (change.goes_on) entry = entry_beside(client, there, record);
  }
  auto insertion = place_entry(client.format, rest, client.keys, kEntryName, entry);
  if (!insertion.ok()) {
    return in_file(std::move(insertion).error(), old.path)
        .context("add by hand " + client.entry + " as \"hutch\"");
  }
  change.insertion = insertion.value();
  change.after = rest;
  change.after.insert(change.insertion.at, change.insertion.text);
  change.stays = true;
  return change;
}

base::Status apply_addition(const Client& client, const std::string& records,
                            const Change& change) {
  const Text old = TRY(read_config(change.file));
  TRY(check_unchanged(change));
  TRY(make_directories_of(change.file));
  const std::string place = record_file(client, records);
  TRY(make_directories_of(place));
  // The record first: what it says is looked for, and may not be there.
  const Text earlier = TRY(read_config(place));
  const json known = change.goes_on ? TRY(base::parse_json(earlier.text)) : json();
  const json record = {{"file", change.file},
                       {"was_there", base::boolean_or(known, "was_there", change.was_there)},
                       {"at", change.insertion.at},
                       {"text", change.insertion.text},
                       {"entry", client.entry},
                       {"replaced",
                        {{"at", change.replaced.at},
                         {"text", change.replaced.text},
                         {"rest", change.replaced.rest}}}};
  const bool has_copy = change.was_there && !change.goes_on;
  if (has_copy) TRY(write_whole(kept_copy(client, records), change.before, 0600));
  TRY(write_whole(place, base::print_json(record), 0600));
  auto written = write_whole(change.file, change.after, old.mode);
  if (written.ok()) return written;
  if (earlier.is_there) {
    TRY(write_whole(place, earlier.text, 0600));
  } else {
    (void)::unlink(place.c_str());
  }
  if (has_copy) (void)::unlink(kept_copy(client, records).c_str());
  return written;
}

base::Result<Change> plan_removal(const Client& client, const std::string& records) {
  const json record = TRY(read_record(client, records));
  const Text now = TRY(read_config(base::string_or(record, "file", client.file)));
  Change change;
  change.file = now.path;
  change.before = change.after = now.text;
  change.was_there = change.stays = now.is_there;
  auto document = parse_document(client.format, now.text);
  if (!document.ok()) return in_file(std::move(document).error(), now.path);
  const json there = value_at(document.value(), whole_keys(client));
  if (there.is_null()) {
    change.is_needed = false;
    return change;
  }
  if (!is_of_setup(there, record, client.format)) {
    return base::error(Error::Kind::kConflict,
                       "the entry \"hutch\" of " + now.path +
                           " is not as setup has written it: take it out there");
  }
  auto rest = taken_out(client, record, now);
  if (!rest.ok()) return in_file(std::move(rest).error(), now.path);
  change.after = with_replaced(client, replaced_in(record), rest.value());
  change.stays = base::boolean_or(record, "was_there", true) || !change.after.empty();
  return change;
}

base::Status apply_removal(const Client& client, const std::string& records, const Change& change) {
  if (change.is_needed) {
    const Text old = TRY(read_config(change.file));
    TRY(check_unchanged(change));
    if (change.stays) {
      TRY(write_whole(change.file, change.after, old.mode));
    } else if (::unlink(change.file.c_str()) != 0) {
      return Error::from_errno("remove " + change.file);
    }
  }
  (void)::unlink(record_file(client, records).c_str());
  (void)::unlink(kept_copy(client, records).c_str());
  return base::done();
}

std::string kept_copy(const Client& client, const std::string& records) {
  return records + "/" + client.id + ".before";
}

}  // namespace tools::setup
