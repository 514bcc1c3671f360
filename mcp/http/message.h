// HTTP requests and responses as the rest of this folder sees them: no word of the library's.
#pragma once

#include <algorithm>
#include <any>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "mcp/principal.h"

namespace mcp::http {

struct NameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return base::lower(x) < base::lower(y);
    });
  }
};

// Headers have names without regard to case, and values without the white space around them, never
// with CR or LF.
using Headers = std::multimap<std::string, std::string, NameLess>;

// A Part is one of RFC 7578.
struct Part {
  std::string name;
  std::string filename;  // empty: it is no file
  std::string content_type;
  std::string content;
};

struct Request {
  std::string id;  // from X-Request-Id, or made here: goes back with the answer, and into the log
  std::chrono::steady_clock::time_point begun;  // when its head was complete
  std::string method;
  std::string path;                               // decoded, without the query
  std::map<std::string, std::string> parameters;  // from the path: Route
  std::map<std::string, std::string> query;
  Headers headers;
  std::string range;  // the header of that name, which `headers` does not have
  std::string body;
  std::vector<Part> parts;  // instead of `body`, for multipart/form-data: Route::takes_parts
  std::string peer;         // address of the socket's other end; "unix" for a Unix socket
  Principal principal;
  std::any identified;   // left by Route::identify for Route::answer
  std::stop_token gone;  // the client, before it was answered: where that takes long

  // Returns the value of the first header of that name; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
  [[nodiscard]] bool has_header(std::string_view name) const { return headers.contains(name); }
};

// A Stream is the body of a response that goes on after its headers. Safe from any thread.
class Stream {
 public:
  virtual ~Stream() = default;

  // Sends without waiting. False when the client has gone, or read so slowly that the stream was
  // closed.
  virtual bool send(std::string bytes) = 0;
  // Waits until the client has taken most of what waits for it, or had the time to, then sends as
  // send() does. The time begins anew each time that the client has taken all.
  virtual bool send_patiently(std::string bytes) = 0;
  // Returns false when a message that may be dropped should be, since the client does not keep up.
  [[nodiscard]] virtual bool has_room() const = 0;
  // Ends the response once everything has left.
  virtual void close() = 0;
  // Ends it at once as one that is not whole: its client hears of a broken connection.
  virtual void break_off() = 0;
  // The callback is called once, on any thread, when the client has gone or was given up, be it
  // before this. Not called after close().
  virtual void on_gone(std::function<void()> callback) = 0;
};

// A FileBody is a part of an open file, as a body: the kernel sends it, and no memory holds it.
struct FileBody {
  std::shared_ptr<const base::UniqueFd> file;  // null: none
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

// A Taken is a connection that is no longer ours, and what has come on it.
struct Taken {
  base::UniqueFd fd;  // does not block
  std::string head;   // the request's, with its blank line
  std::string rest;   // bytes that have come behind it
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string content_type;  // needed where there is a body
  std::string body;
  FileBody file = {};  // in place of `body`
  // When it is set there is no body: it is called once the headers are out.
  std::function<void(std::shared_ptr<Stream> stream)> start_stream;
  // When it is set, nothing else is: called once, it gives the response to `done` later, on any
  // thread.
  std::function<void(std::function<void(Response)> done)> later;
  // When it is set, nothing else is: it is called once, unless the client has gone, and is not to
  // wait.
  std::function<void(Taken connection)> take_over = nullptr;
};

// Answers requests. Called from many threads.
class Handler {
 public:
  virtual ~Handler() = default;

  // Says how much of a body may come, and in which forms.
  struct Body {
    std::size_t bytes_max;  // more: refused with kTooLarge
    bool takes_parts = false;
    std::size_t parts_max = 0;  // more: refused with kTooLarge
    bool takes_gzip = false;    // then `bytes_max` counts unpacked bytes
  };
  // Looks at a request before its body is read; may add to it. Nothing: answer with `refusal`.
  virtual std::optional<Body> admit(Request& head, Response& refusal) = 0;
  // Refuses a request that was admitted, for its body (too much of it, too little, or none that can
  // be read), or since too many wait, with kTooMany. `why` says more than the status does; empty:
  // nothing does.
  virtual Response refused(const Request& head, int status, const std::string& why) = 0;
  virtual Response handle(Request request) = 0;
  // Is told of everything that was answered, and with what. A request that was refused for its
  // head, before that had come whole, or since too many wait, has an id and a peer alone.
  virtual void answered(const Request& request, int status, bool streams) = 0;
};

}  // namespace mcp::http
