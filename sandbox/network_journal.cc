#include "sandbox/network_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/shortened_text.h"
#include "base/text.h"
#include "sandbox/session_parts.h"

namespace sandbox {

using nlohmann::json;

namespace {

constexpr std::int64_t kFileBytesMax = 256 * 1024;
constexpr std::size_t kTextBytesMax = 1024;
// Who writes is held up before; at the box's end all that is under way is told of at once.
constexpr std::size_t kUnwrittenBytesMax = 4 << 20;
constexpr std::size_t kReadBytesMax = kUnwrittenBytesMax + 2 * kFileBytesMax;
// A position: the number of a file, and where in it.
constexpr int kOffsetBits = 32;

std::string name_of(std::int64_t number) {
  return std::string(kNetworkJournalPrefix) + std::to_string(number);
}

// Returns the numbers of the journal's files, in order.
std::vector<std::int64_t> numbers_in(int directory_fd) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : base::names_in(directory_fd)) {
    if (!name.starts_with(kNetworkJournalPrefix)) continue;
    const auto number = base::number_of<std::int64_t>(name.substr(kNetworkJournalPrefix.size()));
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::int64_t size_of(int directory_fd, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size
                                                                                  : 0;
}

std::int64_t position_of(std::int64_t file, std::int64_t offset) {
  return (file << kOffsetBits) + offset;
}

JournalEntry entry_of(const json& value) {
  JournalEntry entry;
  NetworkRequest& request = entry.request;
  request.number = base::integer_or(value, "number", 0);
  entry.at = base::integer_or(value, "at", request.number);
  request.verdict = base::string_or(value, "verdict") == "refused" ? "refused" : "allowed";
  request.host = base::string_or(value, "host");
  request.port = base::integer_or(value, "port", 0);
  request.method = base::string_or(value, "method");
  request.path = base::string_or(value, "path");
  request.status = base::integer_or(value, "status", 0);
  request.reason = base::string_or(value, "reason");
  request.missing_rule = base::string_or(value, "missing_rule");
  request.credential = base::string_or(value, "credential");
  request.was_kept = base::boolean_or(value, "kept", false);
  request.sent_bytes = base::integer_or(value, "sent", 0);
  request.received_bytes = base::integer_or(value, "received", 0);
  request.ms = base::integer_or(value, "ms", 0);
  request.is_open = base::boolean_or(value, "open", false);
  request.more = base::integer_or(value, "more", 0);
  if (const auto of = base::find_integer(value, "of")) {
    entry.kind = JournalEntry::Kind::kGoesOn;
    request.number = *of;
  } else if (request.number == 0) {
    entry.kind = JournalEntry::Kind::kUse;
  }
  // A journal of before says it of whole requests alone.
  const bool is_whole = entry.kind == JournalEntry::Kind::kBegins && !request.is_open;
  entry.used_bytes =
      is_whole ? request.sent_bytes + request.received_bytes : base::integer_or(value, "used", 0);
  return entry;
}

// Returns the entries of one file behind `offset`.
std::vector<JournalEntry> entries_in(int directory_fd, std::int64_t number, std::int64_t offset) {
  std::vector<JournalEntry> entries;
  const auto file = base::open_file(directory_fd, name_of(number), O_RDONLY | O_NOFOLLOW);
  if (!file.ok() || ::lseek(file.value().get(), offset, SEEK_SET) != offset) return entries;
  const auto text = base::read_all(file.value().get(), kReadBytesMax);
  if (!text.ok()) return entries;
  std::string_view rest = text.value();
  // A line without its end is still being written.
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    const auto value = base::parse_json(std::string(rest.substr(0, end)));
    rest.remove_prefix(end + 1);
    offset += static_cast<std::int64_t>(end) + 1;
    if (!value.ok() || !value.value().is_object()) continue;
    entries.push_back(entry_of(value.value()));
    entries.back().end = position_of(number, offset);
  }
  return entries;
}

}  // namespace

NetworkJournal::NetworkJournal(int directory_fd) : directory_fd_(directory_fd) {
  const auto numbers = numbers_in(directory_fd);
  if (!numbers.empty()) file_number_ = numbers.back();
  look_again();
}

base::Status NetworkJournal::open_next() {
  file_ = TRY(base::open_file(directory_fd_, name_of(file_number_ + 1),
                              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  ++file_number_;
  file_bytes_ = 0;
  return base::done();
}

void NetworkJournal::add(const json& event) {
  const std::string kind = base::string_or(event, "event");
  const bool is_looked_into = base::boolean_or(event, "looked_into", false);
  if (kind == "refused" || kind == "begun" || (kind == "opened" && !is_looked_into)) {
    return begin(event, kind);
  }
  if (kind == "carried" || kind == "request" || kind == "closed" || kind == "used") {
    return go_on(event, kind);
  }
  if (kind == "lost") end_all();
}

void NetworkJournal::begin(const json& event, const std::string& kind) {
  const bool is_refused = kind == "refused";
  json line = {{"verdict", is_refused ? "refused" : "allowed"}, {"number", next_number()}};
  for (const char* name : {"host", "method", "path", "reason", "missing_rule", "credential"}) {
    const std::string text = base::string_or(event, name);
    if (!text.empty()) line[name] = base::shortened(text, kTextBytesMax);
  }
  for (const char* name : {"port", "more"}) {
    const std::int64_t value = base::integer_or(event, name, 0);
    if (value != 0) line[name] = value;
  }
  if (!is_refused) line["open"] = true;
  const std::int64_t number = last_number_;
  if (write(line) && !is_refused) open_[base::integer_or(event, "id", 0)] = number;
}

void NetworkJournal::go_on(const json& event, const std::string& kind) {
  json line = {{"at", next_number()}};
  const auto known = open_.find(base::integer_or(event, "id", 0));
  if (known != open_.end()) {
    line["of"] = known->second;
    if (kind == "carried") line["open"] = true;
    if (kind != "carried") open_.erase(known);
    const std::string credential = base::string_or(event, "credential");
    if (!credential.empty()) line["credential"] = base::shortened(credential, kTextBytesMax);
    if (base::boolean_or(event, "kept", false)) line["kept"] = true;
  }
  for (const char* name : {"status", "sent", "received", "ms", "used"}) {
    const std::int64_t value = base::integer_or(event, name, 0);
    if (value != 0 && (line.contains("of") || name == std::string_view("used"))) line[name] = value;
  }
  if (line.size() > 1) (void)write(line);
}

void NetworkJournal::end_all() {
  for (const auto& [id, number] : std::exchange(open_, {})) {
    (void)write({{"at", next_number()}, {"of", number}});
  }
}

std::int64_t NetworkJournal::next_number() {
  last_number_ = std::max(last_number_ + 1, base::now_ms() * 1000);
  return last_number_;
}

bool NetworkJournal::write(const json& line) {
  const std::string text = base::print_json(line) + "\n";
  if (unwritten_.empty() && write_now(text)) return true;
  if (unwritten_.size() + text.size() <= kUnwrittenBytesMax) {
    unwritten_ += text;
    return true;
  }
  leave_out(line);
  return false;
}

void NetworkJournal::leave_out(const json& line) {
  const std::string verdict = base::string_or(line, "verdict");
  const std::int64_t more = std::max<std::int64_t>(base::integer_or(line, "more", 0), 1);
  if (verdict == "allowed") left_out_.allowed += more;
  if (verdict == "refused") left_out_.refused += more;
  left_out_.used_bytes += base::integer_or(line, "used", 0);
  const auto of = base::find_integer(line, "of");
  if (of && !base::boolean_or(line, "open", false)) left_out_.ended.push_back(*of);
}

// Their lines are told in sum, and nothing stays open for ever.
void NetworkJournal::tell_what_is_left_out() {
  const LeftOut left_out = std::exchange(left_out_, {});
  if (left_out.allowed > 0) {
    (void)write({{"verdict", "allowed"}, {"number", next_number()}, {"more", left_out.allowed}});
  }
  if (left_out.refused > 0) {
    (void)write({{"verdict", "refused"}, {"number", next_number()}, {"more", left_out.refused}});
  }
  if (left_out.used_bytes > 0) {
    (void)write({{"at", next_number()}, {"used", left_out.used_bytes}});
  }
  for (const std::int64_t number : left_out.ended) {
    (void)write({{"at", next_number()}, {"of", number}});
  }
}

bool NetworkJournal::write_now(const std::string& text) {
  if ((!file_.valid() || file_bytes_ >= kFileBytesMax) && !open_next().ok()) return false;
  if (!base::write_all(file_.get(), text).ok()) {
    // Half a line would spoil the next one, which then begins another file.
    if (::ftruncate(file_.get(), file_bytes_) != 0) file_.reset();
    return false;
  }
  file_bytes_ += static_cast<std::int64_t>(text.size());
  bytes_ += static_cast<std::int64_t>(text.size());
  return true;
}

void NetworkJournal::look_again() {
  if (!unwritten_.empty() && write_now(unwritten_)) {
    unwritten_.clear();
    tell_what_is_left_out();
  }
  bytes_ = 0;
  for (const std::int64_t number : numbers_in(directory_fd_)) {
    bytes_ += size_of(directory_fd_, name_of(number));
  }
}

std::vector<JournalEntry> read_network_journal(int directory_fd, std::int64_t after) {
  const std::int64_t first = after >> kOffsetBits;
  for (const std::int64_t number : numbers_in(directory_fd)) {
    if (number < first) continue;
    const std::int64_t offset = number == first ? after - position_of(first, 0) : 0;
    auto entries = entries_in(directory_fd, number, offset);
    if (!entries.empty()) return entries;
  }
  return {};
}

std::int64_t network_journal_end(int directory_fd) {
  const auto numbers = numbers_in(directory_fd);
  if (numbers.empty()) return 0;
  return position_of(numbers.back(), size_of(directory_fd, name_of(numbers.back())));
}

void drop_network_journal(int directory_fd, std::int64_t taken) {
  const auto numbers = numbers_in(directory_fd);
  for (const std::int64_t number : numbers) {
    // The last one is written, and tells the next box how to go on counting.
    if (number == numbers.back() || number >= taken >> kOffsetBits) return;
    (void)::unlinkat(directory_fd, name_of(number).c_str(), 0);
  }
}

}  // namespace sandbox
