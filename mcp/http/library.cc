#include "mcp/http/library.h"

#include <httplib.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "base/text.h"
#include "mcp/http/body_framing.h"
#include "mcp/http/gunzip.h"
#include "mcp/http/header_value.h"
#include "mcp/http/null_ends.h"
#include "mcp/http/request_id.h"
#include "mcp/http/status.h"

namespace mcp::http {
namespace {

class LibraryExchange;
Answer answer_of(LibraryExchange& exchange);

// RFC 2046 section 5.1.1, RFC 9110 section 8.3.1: the library knows one way of writing the type.
bool name_form(httplib::Request& parsed) {
  constexpr std::string_view kForm = "multipart/form-data";
  const auto type = parsed.headers.find("Content-Type");
  if (type == parsed.headers.end() || !base::lower(type->second).starts_with(kForm)) return false;
  type->second.replace(0, kForm.size(), kForm);
  return true;
}

// One request on its way through the library. What the library calls is named by the library.
class LibraryExchange final : public httplib::Stream {
 public:
  LibraryExchange(std::string_view head, Request request, BodySource& source, Handler& handler,
                  const Bounds& bounds)
      : whole_head_(head),
        head_(head),
        request_(std::move(request)),
        source_(source),
        handler_(handler),
        bounds_(bounds) {}

  // The socket that the library thinks it has; newer versions alone ask for some of these:
  bool is_readable() const { return true; }
  bool is_writable() const { return true; }
  bool wait_readable() const { return true; }
  bool wait_writable() const { return true; }
  time_t duration() const { return 0; }
  // Beyond FD_SETSIZE it would refuse to work; it has no use for the number.
  socket_t socket() const { return INVALID_SOCKET; }
  void get_remote_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const { ip.clear(), port = 0; }
  ssize_t write(const char* bytes, std::size_t size) {
    out_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  ssize_t read(char* bytes, std::size_t size);

  // In the order in which they are called:
  // Given first, it is what the request is answered with: its body has been read before.
  void answer_with(Response response, bool wants_close) {
    response_ = std::move(response);
    decided_ = true;
    body_is_over_ = true;
    closes_ = wants_close;
  }
  void take_head(httplib::Request& parsed);
  bool answer_without_body(httplib::Response& response);
  void answer_with_body(httplib::Response& response, const httplib::ContentReader& reader);
  void finish_headers(httplib::Response& response);
  Answer take_answer();

 private:
  Answer take_later();
  void decide(const httplib::Request& parsed);
  void refuse(int status) {
    decided_ = true;
    response_.status = status;
  }
  // Nobody knows where the next request would begin.
  void refuse_framing(int status) {
    wants_close_ = true;
    refuse(status);
  }
  void refuse_body(int status, const std::string& why = "");
  [[nodiscard]] int read_body(const httplib::ContentReader& reader);
  [[nodiscard]] int read_parts(const httplib::ContentReader& reader);
  void run_handler();
  void fill(httplib::Response& response);
  bool body_left() const;

  const std::string_view whole_head_;
  std::string_view head_;  // as far as the library has not read it yet
  Request request_;
  BodySource& source_;
  Handler& handler_;
  const Bounds& bounds_;
  std::optional<ChunkCheck> chunks_;  // for a body in chunks
  std::optional<Gunzip> gunzip_;      // for a body that comes packed
  BodyFraming framing_;
  Handler::Body body_{};
  std::size_t body_read_ = 0;
  bool chunks_are_wrong_ = false;
  bool has_parts_ = false;
  bool too_many_parts_ = false;
  bool body_is_over_ = false;
  bool closes_ = false;  // whatever this head says
  bool head_taken_ = false;
  bool decided_ = false;  // response_ is the answer
  bool is_put_off_ = false;
  bool wants_close_ = false;
  Response response_;
  std::string out_;
};

ssize_t LibraryExchange::read(char* bytes, std::size_t size) {
  if (!head_taken_) {
    const std::size_t taken = head_.copy(bytes, size);
    head_.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  }
  if (!framing_.chunked) size = std::min(size, framing_.length - body_read_);
  if (size == 0 || (framing_.chunked && chunks_->complete())) return 0;
  if (!out_.empty()) {  // 100 Continue: the client waits for it
    source_.write_now(out_);
    out_.clear();
  }
  const std::size_t got = source_.read(bytes, size);
  body_read_ += got;
  if (framing_.chunked && !chunks_->feed({bytes, got})) {
    chunks_are_wrong_ = true;
    return -1;
  }
  // The library keeps what stands between parts.
  if (has_parts_ && !source_.keep(got)) return -1;
  return got == 0 ? -1 : static_cast<ssize_t>(got);
}

void LibraryExchange::take_head(httplib::Request& parsed) {
  head_taken_ = true;
  request_.method = parsed.method;
  request_.path = parsed.path;
  for (const auto& [name, value] : parsed.params) request_.query.emplace(name, value);
  for (const auto& [name, value] : parsed.headers) {
    if (name.starts_with("REMOTE_") || name.starts_with("LOCAL_")) continue;  // the library's own
    request_.headers.emplace(name, value);
  }
  take_request_id(request_);
  const std::string connection = base::lower(request_.header("Connection"));
  wants_close_ = connection.find("close") != std::string::npos ||
                 (parsed.version == "HTTP/1.0" && connection != "keep-alive") || closes_;
  if (!decided_) decide(parsed);
  // A request that is answered already waits for no body, and the library's answer to a client that
  // holds its body back has no length.
  if (decided_) parsed.headers.erase("Expect");
  // Unpacked by us, the library would not notice where the end is missing.
  if (framing_.gzip && !decided_) gunzip_.emplace(body_.bytes_max);
  parsed.headers.erase("Content-Encoding");
  // The library routes by regular expressions: it gets one path that always fits. And a form would
  // be taken apart by it.
  parsed.path = "/";
  has_parts_ = body_.takes_parts && name_form(parsed);
  if (has_parts_ && framing_.gzip && !decided_) refuse_body(kUnsupportedMediaType);
  if (!has_parts_) parsed.headers.erase("Content-Type");
}

void LibraryExchange::decide(const httplib::Request& parsed) {
  for (const auto& [name, value] : request_.headers) {
    if (!is_text(value)) return refuse_framing(kBadRequest);
  }
  framing_ = frame_body(request_.headers, bounds_);
  if (parsed.version == "HTTP/1.0" && framing_.chunked) framing_.refusal = kBadRequest;
  // A body of which too much is announced is refused as any other that is too large: in the words
  // of who would have taken it.
  const bool is_too_large = framing_.refusal == kTooLarge;
  if (framing_.refusal != 0 && !is_too_large) return refuse_framing(framing_.refusal);
  wants_close_ = wants_close_ || is_too_large;
  try {
    const auto body = handler_.admit(request_, response_);
    decided_ = !body;
    if (decided_) return;
    is_put_off_ = decided_ = !source_.belongs_to(request_.principal.id);
    if (decided_) return;
    body_ = *body;
    body_.bytes_max = std::min(body_.bytes_max, bounds_.body_bytes);
  } catch (const std::exception&) {
    return refuse(kInternalError);
  }
  if (framing_.chunked) chunks_.emplace(body_.bytes_max);
  if (is_too_large || framing_.length > body_.bytes_max) refuse_body(kTooLarge);
  if (framing_.gzip && !body_.takes_gzip) refuse_body(kUnsupportedMediaType);
}

bool LibraryExchange::answer_without_body(httplib::Response& response) {
  const std::string& method = request_.method;
  const bool may_have_one = method == "POST" || method == "PATCH" || method == "PUT";
  if (!decided_ && may_have_one) return false;
  if (!decided_) run_handler();
  fill(response);
  return true;
}

void LibraryExchange::refuse_body(int status, const std::string& why) {
  decided_ = true;
  response_ = handler_.refused(request_, status, why);
}

int LibraryExchange::read_body(const httplib::ContentReader& reader) {
  int failure = 0;
  const bool complete = reader([&](const char* bytes, std::size_t size) {
    const std::size_t before = request_.body.size();
    if (gunzip_) {
      const auto state = gunzip_->feed({bytes, size}, request_.body);
      if (state == Gunzip::State::kTooMuch) failure = kTooLarge;
      if (state == Gunzip::State::kWrong) failure = kBadRequest;
      if (failure != 0) return false;
    } else {
      request_.body.append(bytes, size);
    }
    if (source_.keep(request_.body.size() - before)) return true;
    failure = source_.failure();
    return false;
  });
  if (complete && gunzip_ && !gunzip_->complete()) return kBadRequest;
  if (complete) return 0;
  return failure != 0 ? failure : source_.failure();
}

int LibraryExchange::read_parts(const httplib::ContentReader& reader) {
  const bool complete = reader(
      [&](const httplib::MultipartFormData& part) {
        too_many_parts_ = too_many_parts_ || request_.parts.size() >= body_.parts_max;
        if (!too_many_parts_) {
          request_.parts.push_back({part.name, part.filename, part.content_type, ""});
        }
        return !too_many_parts_;
      },
      [&](const char* bytes, std::size_t size) {
        std::string& content = request_.parts.back().content;
        // The first is most often the only one: its pages are made once, as its bytes come.
        const bool is_first = request_.parts.size() == 1 && content.empty();
        if (is_first && !framing_.chunked) content.reserve(framing_.length - body_read_ + size);
        content.append(bytes, size);
        return true;
      });
  if (complete) return 0;
  return too_many_parts_ ? kTooLarge : source_.failure();
}

void LibraryExchange::answer_with_body(httplib::Response& response,
                                       const httplib::ContentReader& reader) {
  int failure = has_parts_ ? read_parts(reader) : read_body(reader);
  if (failure != 0 && chunks_are_wrong_) failure = chunks_->too_large() ? kTooLarge : kBadRequest;
  if (failure == 0) {
    run_handler();
  } else if (too_many_parts_) {
    refuse_body(kTooLarge, "more than " + std::to_string(body_.parts_max) +
                               " files in one request: send them in several");
  } else {
    refuse_body(failure);
  }
  fill(response);
}

void LibraryExchange::run_handler() {
  try {
    auto body = std::move(request_.body);
    auto parts = std::move(request_.parts);
    Request request = request_;
    request.body = std::move(body);
    request.parts = std::move(parts);
    response_ = handler_.handle(std::move(request));
    decided_ = true;
  } catch (const std::exception&) {
    response_ = {};
    refuse(kInternalError);
  }
}

void LibraryExchange::fill(httplib::Response& response) {
  response.status = response_.status;
  for (const auto& [name, value] : response_.headers) response.set_header(name, value);
  if (response_.start_stream) {
    wants_close_ = true;  // its end is the end of the connection
    response.set_content_provider(response_.content_type,
                                  [](std::size_t, httplib::DataSink&) { return false; });
  } else if (response_.file.file && response_.file.bytes == 0) {
    response.set_header("Content-Type", response_.content_type);
    response.set_header("Content-Length", "0");  // which the library leaves out then
  } else if (response_.file.file) {
    response.set_content_provider(
        static_cast<std::size_t>(response_.file.bytes), response_.content_type,
        [](std::size_t, std::size_t, httplib::DataSink&) { return false; });
  } else if (!response_.body.empty()) {
    response.set_content(response_.body, response_.content_type);
  }
}

bool LibraryExchange::body_left() const {
  if (body_is_over_) return false;
  if (framing_.chunked) return !chunks_ || !chunks_->complete();
  return body_read_ < framing_.length;
}

void LibraryExchange::finish_headers(httplib::Response& response) {
  response.headers.erase("Keep-Alive");  // promises of the library that are not ours
  response.headers.erase("Connection");
  // RFC 9110 section 8.6: none of the one, and that of the other would be of what is not sent.
  if (response_.status == 204 || response_.status == 304) response.headers.erase("Content-Length");
  if (!head_taken_ || body_left()) wants_close_ = true;
  if (wants_close_) response.set_header("Connection", "close");
  if (!request_.id.empty()) response.set_header(kRequestIdHeader, request_.id);
}

// Printed once it is there, as the answer to a request without a body.
Answer LibraryExchange::take_later() {
  Answer answer;
  answer.later = [head = std::string(whole_head_), keep_alive = !wants_close_,
                  request = std::move(request_), handler = &handler_, bounds = &bounds_,
                  later = std::move(response_.later)](const std::function<void(Answer)>& done) {
    later([=](Response response) {
      NoBody none;
      LibraryExchange exchange(head, request, none, *handler, *bounds);
      exchange.answer_with(std::move(response), !keep_alive);
      done(answer_of(exchange));
    });
  };
  return answer;
}

Answer LibraryExchange::take_answer() {
  if (is_put_off_) {
    Answer later;
    later.put_off = std::move(request_);
    return later;
  }
  if (response_.later) return take_later();
  handler_.answered(request_, head_taken_ ? response_.status : kBadRequest,
                    response_.start_stream || response_.take_over);
  if (request_.method == "HEAD") response_.file = {};
  return {std::move(out_),
          !wants_close_ && head_taken_,
          std::move(response_.file),
          std::move(response_.start_stream),
          nullptr,
          std::move(response_.take_over)};
}

// One a thread: it keeps nothing from one request to the next.
class Library final : public httplib::Server {
 public:
  Library() {
    set_expect_100_continue_handler(
        [](const httplib::Request&, httplib::Response&) { return 100; });
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      return current_->answer_without_body(response) ? HandlerResponse::Handled
                                                     : HandlerResponse::Unhandled;
    });
    const HandlerWithContentReader with_body = [this](const httplib::Request&,
                                                      httplib::Response& response,
                                                      const httplib::ContentReader& reader) {
      current_->answer_with_body(response, reader);
    };
    Post("/", with_body);
    Patch("/", with_body);
    Put("/", with_body);
    // Else the text of an exception would become a header.
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) { response.status = kInternalError; });
    set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) {
      current_->finish_headers(response);
    });
  }

  void process(LibraryExchange& exchange) {
    current_ = &exchange;
    (void)call(*this, exchange,
               [&exchange](httplib::Request& parsed) { exchange.take_head(parsed); });
  }

  // Has the library parse what `stream` holds; `look` sees the result.
  template <class Self, class Look>
  static bool call(Self& self, httplib::Stream& stream, const Look& look) {
    bool closed = false;
    if constexpr (requires { self.process_request(stream, false, closed, look); }) {
      return self.process_request(stream, false, closed, look);
    } else {  // newer versions ask for the addresses here
      return self.process_request(stream, "", 0, "", 0, false, closed, look);
    }
  }

 private:
  LibraryExchange* current_ = nullptr;
};

Answer answer_of(LibraryExchange& exchange) {
  thread_local Library library;
  try {
    library.process(exchange);
  } catch (const std::exception&) {
    // Out of memory: the connection ends, the server lives.
    return {};
  }
  return exchange.take_answer();
}

}  // namespace

std::map<std::string, std::string> parse_query(std::string_view text) {
  httplib::Params params;
  httplib::detail::parse_query_text(std::string(text), params);
  std::map<std::string, std::string> query;
  for (const auto& [name, value] : params) query.emplace(name, value);
  return query;
}

bool library_decodes_header_values() {
  static const bool decodes = [] {
    std::string seen;
    NoHandler handler(seen);
    NoBody body;
    (void)answer_request("GET / HTTP/1.1\r\nProbe: %41\r\n\r\n", {}, body, handler, Bounds{});
    return seen == "A";
  }();
  return decodes;
}

Answer refuse_request(std::string_view head, Request request, Handler& handler,
                      const Bounds& bounds) {
  try {
    Response refusal = handler.refused(request, kTooMany, "");
    NoBody none;
    LibraryExchange exchange(head, std::move(request), none, handler, bounds);
    exchange.answer_with(std::move(refusal), true);
    return answer_of(exchange);
  } catch (const std::exception&) {
    return {};  // out of memory: the connection ends
  }
}

Answer answer_request(std::string_view head, Request request, BodySource& source, Handler& handler,
                      const Bounds& bounds) {
  LibraryExchange exchange(head, std::move(request), source, handler, bounds);
  return answer_of(exchange);
}

}  // namespace mcp::http
