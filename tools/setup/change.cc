#include "tools/setup/change.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "sandbox/base/draft.h"
#include "sandbox/base/fd.h"
#include "sandbox/wire/json.h"

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
  return text.is_there ? TRY(sandbox::wire::parse_json(text.text)) : json();
}

Keys whole_keys(const Client& client) {
  Keys keys = client.keys;
  keys.emplace_back(kEntryName);
  return keys;
}

base::Error in_file(base::Error&& error, const std::string& path) {
  return std::move(error).context(path + " is left as it is");
}

// Of the document as its format has it: YAML's scalars are strings. `entry` is JSON.
bool says_the_same(const json& there, const std::string& entry, Format format) {
  const auto parsed = parse_document(format == Format::kYaml ? format : Format::kJson, entry);
  return parsed.ok() && there == parsed.value();
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

base::Result<std::string> taken_out(const Client& client, const json& record, const Text& now) {
  const auto document = TRY(parse_document(client.format, now.text));
  const json there = value_at(document, whole_keys(client));
  const std::string written = sandbox::wire::string_or(record, "entry");
  if (!written.empty() && says_the_same(there, written, client.format)) {
    auto rest = without_entry(client.format, now.text, client.keys, kEntryName);
    if (rest.ok()) return rest;
  }
  return base::error(
      Error::Kind::kConflict,
      "the entry \"hutch\" of " + now.path + " is not as setup has written it: take it out there");
}

}  // namespace

base::Result<Change> plan_addition(const Client& client, const std::string& records) {
  const Text old = TRY(read_config(client.file));
  Change change;
  change.file = old.path;
  change.before = change.after = old.text;
  change.was_there = change.stays = old.is_there;
  auto document = parse_document(client.format, old.text);
  if (!document.ok()) return in_file(std::move(document).error(), old.path);
  const json there = value_at(document.value(), whole_keys(client));
  std::string rest = old.text;
  if (!there.is_null()) {
    change.is_needed = !says_the_same(there, client.entry, client.format);
    if (!change.is_needed) return change;
    // One that setup has written gives way to what is asked for now.
    const auto removal = plan_removal(client, records);
    if (TRY(read_record(client, records)).is_null() || !removal.ok()) {
      return base::error(Error::Kind::kConflict,
                         old.path +
                             " has another entry \"hutch\" already, and setup did not write it so: "
                             "take it out there, then try again");
    }
    rest = removal.value().after;
  }
  auto insertion = place_entry(client.format, rest, client.keys, kEntryName,
                               nlohmann::ordered_json::parse(client.entry));
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
  TRY(make_directories_of(record_file(client, records)));
  // The record first: what it says is looked for, and may not be there.
  const json earlier = TRY(read_record(client, records));
  const json record = {
      {"file", change.file},
      {"was_there", sandbox::wire::boolean_or(earlier, "was_there", change.was_there)},
      {"at", change.insertion.at},
      {"text", change.insertion.text},
      {"entry", client.entry}};
  if (change.was_there && earlier.is_null()) {
    TRY(write_whole(kept_copy(client, records), change.before, 0600));
  }
  TRY(write_whole(record_file(client, records), sandbox::wire::print_json(record), 0600));
  auto written = write_whole(change.file, change.after, old.mode);
  if (!written.ok()) {
    (void)::unlink(record_file(client, records).c_str());
    (void)::unlink(kept_copy(client, records).c_str());
  }
  return written;
}

base::Result<Change> plan_removal(const Client& client, const std::string& records) {
  const json record = TRY(read_record(client, records));
  const Text now = TRY(read_config(sandbox::wire::string_or(record, "file", client.file)));
  Change change;
  change.file = now.path;
  change.before = change.after = now.text;
  change.was_there = change.stays = now.is_there;
  auto document = parse_document(client.format, now.text);
  const bool has_entry = document.ok() && !value_at(document.value(), whole_keys(client)).is_null();
  if (!has_entry) {
    if (!document.ok()) return in_file(std::move(document).error(), now.path);
    change.is_needed = false;
    return change;
  }
  const std::string text = sandbox::wire::string_or(record, "text");
  auto at = static_cast<std::size_t>(sandbox::wire::integer_or(record, "at", 0));
  if (text.empty() || now.text.compare(std::min(at, now.text.size()), text.size(), text) != 0) {
    at = text.empty() ? std::string::npos : now.text.find(text);
    if (at != std::string::npos && now.text.find(text, at + 1) != std::string::npos) {
      at = std::string::npos;
    }
  }
  if (at != std::string::npos) change.after.erase(at, text.size());
  // A client that writes its file anew lays it out in its own way, or puts others where we began.
  if (at == std::string::npos || !parse_document(client.format, change.after).ok()) {
    change.after = TRY(taken_out(client, record, now));
  }
  change.stays = sandbox::wire::boolean_or(record, "was_there", true) || !change.after.empty();
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
