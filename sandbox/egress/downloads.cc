#include "sandbox/egress/downloads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <ctime>

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"

namespace sandbox::egress {

using nlohmann::json;

namespace {

// A file is the body, the head as JSON, and the size of that.
constexpr std::size_t kSizeDigits = 8;
constexpr std::size_t kKeptHeadBytesMax = 64 * 1024;
constexpr std::int64_t kBodyBytesMax = std::int64_t{2} << 30;
constexpr mode_t kKeptMode = 0600;

std::string text_of_head(const KeptHead& head) {
  std::string text = base::print_json({{"fields", head.fields},
                                       {"fresh_seconds", head.fresh_seconds},
                                       {"must_ask", head.must_ask}});
  std::string size = std::to_string(text.size());
  return text + std::string(kSizeDigits - size.size(), ' ') + size;
}

std::optional<KeptHead> head_of(const std::string& text) {
  const auto value = base::parse_json(text);
  if (!value.ok() || !value.value().is_object()) return std::nullopt;
  KeptHead head;
  for (const json& field : value.value().value("fields", json::array())) {
    if (!field.is_array() || field.size() != 2 || !field[0].is_string() || !field[1].is_string()) {
      return std::nullopt;
    }
    head.fields.emplace_back(field[0].get<std::string>(), field[1].get<std::string>());
  }
  head.fresh_seconds = base::integer_or(value.value(), "fresh_seconds", 0);
  head.must_ask = base::boolean_or(value.value(), "must_ask", true);
  return head;
}

}  // namespace

std::string_view KeptHead::field(std::string_view name) const {
  for (const auto& [known, value] : fields) {
    if (base::lower(known) == base::lower(name)) return value;
  }
  return "";
}

std::size_t Downloads::Kept::read(std::int64_t offset, std::span<char> part) const {
  const auto most = static_cast<std::size_t>(
      std::min<std::int64_t>(body_bytes - offset, static_cast<std::int64_t>(part.size())));
  std::size_t got = 0;
  while (got < most) {
    const ssize_t some =
        ::pread(file.get(), part.data() + got, most - got, offset + static_cast<std::int64_t>(got));
    if (some <= 0) break;
    got += static_cast<std::size_t>(some);
  }
  return got;
}

void Downloads::Coming::add(std::string_view part) {
  if (is_lost_) return;
  bytes_ += static_cast<std::int64_t>(part.size());
  is_lost_ = bytes_ > kBodyBytesMax || draft_.append(part) != 0;
}

Downloads::Downloads(base::UniqueFd directory, std::int64_t bytes_most)
    : directory_(std::move(directory)), bytes_most_(bytes_most) {
  if (bytes_most_ <= 0) directory_.reset();
}

std::string Downloads::key_of(std::span<const std::string> parts) {
  std::string whole;
  for (const std::string& part : parts) whole += std::to_string(part.size()) + ":" + part;
  const auto digest = base::sha256_hex(whole);
  return digest.ok() ? digest.value() : "";
}

std::optional<Downloads::Kept> Downloads::find(const std::string& key) {
  auto file = base::open_file(directory_.get(), key, O_RDONLY | O_NOFOLLOW);
  struct stat status {};
  if (!file.ok() || ::fstat(file.value().get(), &status) != 0) return std::nullopt;
  const off_t end = status.st_size - static_cast<off_t>(kSizeDigits);
  if (end < 0) return std::nullopt;
  const auto digits = base::read_at(file.value().get(), end, kSizeDigits);
  const std::size_t size = digits.ok() ? std::strtoul(digits.value().c_str(), nullptr, 10) : 0;
  const off_t body = end - static_cast<off_t>(size);
  if (size == 0 || size > kKeptHeadBytesMax || body < 0) return std::nullopt;
  const auto text = base::read_at(file.value().get(), body, size);
  auto head = text.ok() ? head_of(text.value()) : std::nullopt;
  if (!head) return std::nullopt;
  // When it was used, for those that go first; the other time is when the host was asked.
  const timespec used[] = {{.tv_sec = 0, .tv_nsec = UTIME_NOW},
                           {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
  (void)::futimens(file.value().get(), used);
  // A clock that was set back makes nothing younger.
  const std::int64_t age = std::max<std::int64_t>(0, ::time(nullptr) - status.st_mtime);
  return Kept{std::move(file).value(), std::move(*head), body, age};
}

std::unique_ptr<Downloads::Coming> Downloads::begin() {
  auto coming = std::make_unique<Coming>(directory_.get());
  if (coming->draft_.fill("", kKeptMode) != 0) return nullptr;
  return coming;
}

void Downloads::finish(const std::string& key, std::unique_ptr<Coming> coming,
                       const KeptHead& head) {
  const std::string text = text_of_head(head);
  if (coming->is_lost_ || text.size() > kKeptHeadBytesMax) return;
  if (coming->draft_.append(text) != 0 || coming->draft_.publish_over(key) != 0) return;
  if (bytes_ >= 0) bytes_ += coming->bytes_ + static_cast<std::int64_t>(text.size());
  if (bytes_ < 0 || bytes_ > bytes_most_) make_room();
}

void Downloads::renew(const Kept& kept) { (void)::futimens(kept.file.get(), nullptr); }

void Downloads::make_room() {
  struct Entry {
    timespec used;
    std::int64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  bytes_ = 0;
  for (std::string& name : base::names_in(directory_.get())) {
    struct stat status {};
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries.push_back({status.st_atim, status.st_size, std::move(name)});
    bytes_ += status.st_size;
  }
  if (bytes_ <= bytes_most_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& entry : entries) {
    // Below the most, so that the next one does not have to look again.
    if (bytes_ <= bytes_most_ / 10 * 9) return;
    if (::unlinkat(directory_.get(), entry.name.c_str(), 0) == 0) bytes_ -= entry.bytes;
  }
}

}  // namespace sandbox::egress
