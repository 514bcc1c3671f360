// The HTTP library, contained: it parses heads that were checked before, decodes bodies that are
// counted as they come, and prints responses. It opens no socket, waits for nothing and keeps no
// thread; so what it does not bound (bodies, lines, headers, chunk sizes, time, streams) is bounded
// by who calls it. The only file that includes it is library.cc.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mcp/http/bounds.h"
#include "mcp/http/message.h"

namespace mcp::http {

// The body of a request comes from a BodySource. It is used by one thread.
class BodySource {
 public:
  virtual ~BodySource() = default;

  // Is told whose the body is, before anything of it is read. False: it is not the turn of a
  // request of theirs, and nothing is to be read of it now.
  virtual bool belongs_to(const std::string& /*principal_id*/) { return true; }
  // Reads at least one byte, waiting for it as long as is allowed; 0 when none will come.
  virtual std::size_t read(char* bytes, std::size_t size) = 0;
  // Sends at once what is to reach the client before it sends its body (100 Continue).
  virtual void write_now(std::string_view bytes) = 0;
  // Takes room among all bodies for so many more bytes of this one. False: there is none.
  virtual bool keep(std::size_t bytes) = 0;
  // Returns the HTTP status that says why there was nothing to read or to keep.
  [[nodiscard]] virtual int failure() const = 0;
};

struct Answer {
  std::string bytes;                                          // the response's
  bool keep_alive = false;                                    // another request may follow
  FileBody file = {};                                         // follows `bytes`
  std::function<void(std::shared_ptr<Stream>)> start_stream;  // set: the body goes on
  // When it is set, nothing else is. Called once, it gives the answer to `done` later, on any
  // thread.
  std::function<void(std::function<void(Answer)> done)> later;
  std::function<void(Taken connection)> take_over = nullptr;  // set: nothing else is
  std::optional<Request> put_off = {};  // set: nothing else is; the source is not to be read now
};

// Returns true when the library percent-decodes header values: filter_head() has to know.
bool library_decodes_header_values();

// Parses "a=1&b=2", each part percent-encoded; of a name that is there twice the first.
std::map<std::string, std::string> parse_query(std::string_view text);

// Answers a request that was put off, and that there is no room for: as `handler` refuses it with
// kTooMany. Its body stays unread. Does not throw.
Answer refuse_request(std::string_view head, Request request, Handler& handler,
                      const Bounds& bounds);

// Answers one request whose `head` filter_head() has let through. Does not throw.
Answer answer_request(std::string_view head, Request request, BodySource& source, Handler& handler,
                      const Bounds& bounds);

}  // namespace mcp::http
