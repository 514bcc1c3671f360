#include "sandbox/network_journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sandbox/base/clock.h"
#include "sandbox/shortened_text.h"
#include "sandbox/wire/json.h"

namespace sandbox {

using nlohmann::json;

namespace {

constexpr std::string_view kPrefix = "network-";
constexpr std::int64_t kFileBytesMax = 256 * 1024;
constexpr std::int64_t kFilesMax = 8;
constexpr std::size_t kTextBytesMax = 1024;

std::string name_of(std::int64_t number) { return std::string(kPrefix) + std::to_string(number); }

// Of the files that there are, in order.
std::vector<std::int64_t> numbers_in(int directory_fd) {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : base::names_in(directory_fd)) {
    std::int64_t number = 0;
    if (!name.starts_with(kPrefix)) continue;
    const char* const end = name.data() + name.size();
    const auto [stopped, failure] = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (failure == std::errc() && stopped == end) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::int64_t size_of(int directory_fd, const std::string& name) {
  struct stat status {};
  return ::fstatat(directory_fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size
                                                                                  : 0;
}

NetworkRequest request_of(const json& value) {
  NetworkRequest request;
  request.number = wire::integer_or(value, "number", 0);
  request.verdict = wire::string_or(value, "verdict") == "refused" ? "refused" : "allowed";
  request.host = wire::string_or(value, "host");
  request.port = wire::integer_or(value, "port", 0);
  request.method = wire::string_or(value, "method");
  request.path = wire::string_or(value, "path");
  request.status = wire::integer_or(value, "status", 0);
  request.reason = wire::string_or(value, "reason");
  request.credential = wire::string_or(value, "credential");
  request.was_kept = wire::boolean_or(value, "kept", false);
  request.sent_bytes = wire::integer_or(value, "sent", 0);
  request.received_bytes = wire::integer_or(value, "received", 0);
  request.ms = wire::integer_or(value, "ms", 0);
  return request;
}

}  // namespace

NetworkJournal::NetworkJournal(int directory_fd) : directory_fd_(directory_fd) {
  const auto numbers = numbers_in(directory_fd);
  if (!numbers.empty()) file_number_ = numbers.back();
}

base::Status NetworkJournal::open_next() {
  ++file_number_;
  file_ = TRY(base::open_file(directory_fd_, name_of(file_number_),
                              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  bytes_ = 0;
  (void)::unlinkat(directory_fd_, name_of(file_number_ - kFilesMax).c_str(), 0);
  return base::done();
}

void NetworkJournal::add(const json& event) {
  const std::string kind = wire::string_or(event, "event");
  const bool is_request = kind == "request" || kind == "refused" ||
                          (kind == "closed" && !wire::boolean_or(event, "looked_into", false));
  if (!is_request) return;
  json line = {{"verdict", kind == "refused" ? "refused" : "allowed"}};
  for (const char* name : {"host", "method", "path", "reason", "credential"}) {
    const std::string text = wire::string_or(event, name);
    if (!text.empty()) line[name] = shortened(text, kTextBytesMax);
  }
  for (const char* name : {"port", "status", "sent", "received", "ms"}) {
    const std::int64_t value = wire::integer_or(event, name, 0);
    if (value != 0) line[name] = value;
  }
  if (wire::boolean_or(event, "kept", false)) line["kept"] = true;
  last_number_ = std::max(last_number_ + 1, base::now_ms() * 1000);
  line["number"] = last_number_;
  const std::string text = wire::print_json(line) + "\n";
  if ((!file_.valid() || bytes_ >= kFileBytesMax) && !open_next().ok()) return;
  bytes_ += static_cast<std::int64_t>(text.size());
  (void)base::write_all(file_.get(), text);
}

std::vector<NetworkRequest> read_network_journal(int directory_fd) {
  std::vector<NetworkRequest> requests;
  for (const std::int64_t number : numbers_in(directory_fd)) {
    const auto file = base::open_file(directory_fd, name_of(number), O_RDONLY | O_NOFOLLOW);
    if (!file.ok()) continue;
    const auto text = base::read_all(file.value().get(), 2 * kFileBytesMax);
    if (!text.ok()) continue;
    std::string_view rest = text.value();
    // A line without its end is still being written.
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      const auto value = wire::parse_json(std::string(rest.substr(0, end)));
      rest.remove_prefix(end + 1);
      if (value.ok() && value.value().is_object()) requests.push_back(request_of(value.value()));
    }
  }
  return requests;
}

std::int64_t network_journal_bytes(int directory_fd) {
  std::int64_t bytes = 0;
  for (const std::int64_t number : numbers_in(directory_fd)) {
    // Files that have gone count too: their numbers have not.
    bytes = number * kFileBytesMax * 2 + size_of(directory_fd, name_of(number));
  }
  return bytes;
}

}  // namespace sandbox
