#include "tools/api/download.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "base/percent_encoding.h"
#include "sandbox/files/box_path.h"
#include "tools/sandbox_uri.h"
#include "tools/text_window.h"

namespace tools::api {

using mcp::http::Request;
using mcp::http::Response;

namespace {

constexpr const char* kNothing = "sandbox; default-src 'none'";

struct Range {
  std::int64_t first;
  std::int64_t bytes;  // none: nothing of the file is in it
};

std::optional<std::int64_t> range_bound(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-' || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return INT64_MAX;
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Nothing: it says nothing that has to be heard, and the whole is the answer.
std::optional<Range> range_in(std::string_view text, std::int64_t bytes) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  if (dash == text.npos) return std::nullopt;
  const auto first = range_bound(text.substr(0, dash));
  const auto last = range_bound(text.substr(dash + 1));
  if (dash == 0) {  // so many at the end
    if (!last) return std::nullopt;
    const std::int64_t wanted = std::min(*last, bytes);
    return Range{bytes - wanted, wanted};
  }
  const bool is_open = dash + 1 == text.size();
  if (!first || (!last && !is_open) || (last && *last < *first)) return std::nullopt;
  if (*first >= bytes) return Range{0, 0};
  const std::int64_t end = is_open || *last >= bytes ? bytes : *last + 1;
  return Range{*first, end - *first};
}

// Text in UTF-8 says so: without a word of it, clients take it for another charset. Only its
// beginning is looked at.
std::string with_charset(const Download& download) {
  constexpr std::size_t kLookBytesMax = std::size_t{64} << 10;
  if (!download.content_type.starts_with("text/")) return download.content_type;
  const auto read = base::read_at(download.file.get(), 0, kLookBytesMax);
  if (!read.ok()) return download.content_type;
  std::string_view beginning = read.value();
  const bool goes_on = download.bytes > static_cast<std::int64_t>(beginning.size());
  if (goes_on) beginning = beginning.substr(0, whole_characters(beginning, beginning.size()));
  const bool is_utf8 = sandbox::files::is_utf8(beginning);
  return download.content_type + (is_utf8 ? "; charset=utf-8" : "");
}

// Returns whether one of the entity tags of the header is this one: RFC 9110 section 13.1.2.
bool has_tag(std::string_view header, const std::string& tag) {
  return header == "*" || header.find(tag) != header.npos;
}

// Returns the part of the file that goes out. Sets the status and Content-Range where that is not
// the whole.
Range part_of(const Request& request, const Download& download, const std::string& tag,
              Response& response) {
  const Range whole{0, download.bytes};
  const std::string_view condition = request.header("If-Range");
  if (request.method != "GET" || request.range.empty() || (!condition.empty() && condition != tag))
    return whole;
  const auto range = range_in(request.range, download.bytes);
  if (!range) return whole;
  const std::string total = std::to_string(download.bytes);
  if (range->bytes == 0) {
    response.status = 416;
    response.headers.emplace_back("Content-Range", "bytes */" + total);
    return *range;
  }
  response.status = 206;
  response.headers.emplace_back("Content-Range",
                                "bytes " + std::to_string(range->first) + "-" +
                                    std::to_string(range->first + range->bytes - 1) + "/" + total);
  return *range;
}

}  // namespace

std::string content_disposition(std::string_view filename, bool is_inline) {
  std::string plain;
  bool is_plain = true;
  for (const char letter : filename) {
    const bool keeps = letter >= 0x20 && letter < 0x7f && letter != '"' && letter != '\\' &&
                       letter != '%';  // which some clients decode
    is_plain = is_plain && keeps;
    plain += keeps ? letter : '_';
  }
  std::string value = is_inline ? "inline" : "attachment";
  value += "; filename=\"" + plain + "\"";
  if (!is_plain) value += "; filename*=UTF-8''" + base::percent_encoded(filename, "/");
  return value;
}

void add_careful_headers(Response& response, const std::string& policy) {
  response.headers.insert(response.headers.end(), {{"X-Content-Type-Options", "nosniff"},
                                                   {"Content-Security-Policy", policy},
                                                   {"Cross-Origin-Resource-Policy", "same-origin"},
                                                   {"Referrer-Policy", "no-referrer"},
                                                   {"X-Robots-Tag", "noindex"},
                                                   {"Cache-Control", "private, no-cache"}});
}

Response answer_with(const Request& request, Download download) {
  Response response;
  add_careful_headers(response, download.policy.empty() ? kNothing : download.policy);
  response.headers.emplace_back("Accept-Ranges", "bytes");
  const std::string tag = download.etag.empty() ? "" : "\"" + download.etag + "\"";
  if (!tag.empty()) response.headers.emplace_back("ETag", tag);
  if (!tag.empty() && has_tag(request.header("If-None-Match"), tag)) {
    response.status = 304;
    return response;
  }
  const Range part = part_of(request, download, tag, response);
  if (response.status == 416) return response;
  response.content_type = with_charset(download);
  response.headers.emplace_back("Content-Disposition",
                                content_disposition(download.filename, download.is_inline));
  struct Held {
    base::UniqueFd file;
    std::shared_ptr<const void> room;
  };
  const auto held = std::make_shared<const Held>(
      Held{base::UniqueFd(download.file.release()), std::move(download.room)});
  response.file = {{held, &held->file}, part.first, part.bytes};
  return response;
}

}  // namespace tools::api
