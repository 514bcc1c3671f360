#include "sandbox/snapshot_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/json.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

// At the end stand two numbers of 8 bytes, little-endian: how long the index is, and how much there
// is before the first of these. A digest of 32 bytes follows, and 8 that say what this is.
constexpr std::size_t kNumberBytes = 8;
constexpr std::size_t kEndBytes = 2 * kNumberBytes + 32 + 8;
constexpr std::string_view kMagic = "hutchst1";
constexpr std::string_view kMagicOfJavaScript = "hutchjs1";
constexpr std::uint64_t kIndexBytesMost = 16 << 20;
constexpr std::uint64_t kShortIndexBytesMost = 1 << 20;  // it has the newest code, too
constexpr std::size_t kWordsBytesMost = 400;             // for each
constexpr std::size_t kRunIdBytesMost = 64;
constexpr std::int64_t kLeftOutMost = 1'000'000;

std::uint64_t number_at(std::string_view bytes, std::size_t place) {
  std::uint64_t number = 0;
  for (std::size_t i = kNumberBytes; i-- > 0;) {
    number = (number << 8) | static_cast<unsigned char>(bytes[place + i]);
  }
  return number;
}

struct IndexPlace {
  std::size_t end = 0;
  std::uint64_t length = 0;
};

base::Result<IndexPlace> find_index(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return Error::from_errno("fstat of a snapshot");
  const auto size = static_cast<std::size_t>(found.st_size);
  if (!S_ISREG(found.st_mode) || size < kEndBytes) return base::invalid("it has no end");
  const std::size_t end = size - kEndBytes;
  const std::string tail = TRY(base::read_at(fd, static_cast<off_t>(end), kEndBytes));
  if (tail.size() != kEndBytes || !(tail.ends_with(kMagic) || tail.ends_with(kMagicOfJavaScript))) {
    return base::invalid("it has no end");
  }
  const std::uint64_t length = number_at(tail, 0);
  if (number_at(tail, kNumberBytes) != end || length > end) {
    return base::invalid("its end does not fit its length");
  }
  return IndexPlace{end, length};
}

base::Result<std::string> index_text(int fd, std::uint64_t bytes_max) {
  const auto [end, length] = TRY(find_index(fd));
  if (length > bytes_max) return base::invalid("what it says of itself is too long");
  return base::read_at(fd, static_cast<off_t>(end - length), static_cast<std::size_t>(length));
}

void add(Missing& to, std::string words) {
  if (to.words.size() >= kMissingMost) {
    ++to.left_out;
    return;
  }
  if (words.size() > kWordsBytesMost) {
    words.resize(kWordsBytesMost);
    words += "...";
  }
  to.words.push_back(std::move(words));
}

void add_all(Missing& to, const json& words) {
  for (const json& one : words) {
    if (one.is_string()) add(to, one.get<std::string>());
  }
}

// Names are members of an object, each with a type, which may be empty, and a reason.
void add_names(Missing& to, const json& names) {
  if (!names.is_object()) return;
  for (const auto& [name, said] : names.items()) {
    if (!said.is_array() || said.size() != 2 || !said[0].is_string() || !said[1].is_string()) {
      continue;
    }
    const auto type = said[0].get<std::string>();
    add(to, name + " (" + type + (type.empty() ? "" : ": ") + said[1].get<std::string>() + ")");
  }
}

base::Result<json> read_index(int directory_fd, const std::string& name, std::uint64_t bytes_max) {
  const auto file = TRY(base::open_file(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  const std::string text = TRY(index_text(file.get(), bytes_max));
  json said = TRY(base::parse_json(text));
  if (!said.is_object()) return base::invalid("what it says of itself is no object");
  return said;
}

bool is_name_of_run(std::string_view name) {
  return name.starts_with("run_") && name.size() <= kRunIdBytesMost &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c == '_' || std::isalnum(c) != 0; });
}

json member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? json() : *found;
}

std::int64_t left_out_of(const json& object, const char* name) {
  return std::clamp<std::int64_t>(base::integer_or(object, name, 0), 0, kLeftOutMost);
}

}  // namespace

base::Status check_snapshot_end(int fd) {
  TRY(find_index(fd));
  return base::done();
}

base::Result<SnapshotIndex> read_snapshot_index(int directory_fd, const std::string& name) {
  const json said = TRY(read_index(directory_fd, name, kIndexBytesMost));
  SnapshotIndex index;
  add_names(index.not_stored, member(said, "not_kept"));
  add_names(index.not_stored, member(said, "notKept"));  // as JavaScript calls it
  index.not_stored.left_out += left_out_of(said, "leftOut");
  add_all(index.not_stored, member(said, "lost"));
  const json woken = member(said, "woken");
  if (!woken.is_object()) return index;
  add_all(index.not_woken, member(woken, "not_kept"));
  index.not_woken.left_out += left_out_of(woken, "left_out");
  index.woken_as = base::string_or(woken, "after").substr(0, kRunIdBytesMost);
  return index;
}

std::string run_of_snapshot(int directory_fd, const std::string& name) {
  const auto said = read_index(directory_fd, name, kShortIndexBytesMost);
  if (!said.ok()) return "";
  for (const char* key : {"run_id", "runId"}) {  // the second is JavaScript's
    std::string run_id = base::string_or(said.value(), key);
    if (is_name_of_run(run_id)) return run_id;
  }
  return "";
}

}  // namespace sandbox
