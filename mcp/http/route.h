// Routes says what is served where: it is the table from which requests find who answers them, and
// refusals their words.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mcp/auth/authenticator.h"
#include "mcp/http/message.h"

namespace mcp::http {

struct Route {
  enum class Access {
    kPublic,   // no token is asked for
    kReads,    // any token
    kChanges,  // one that may change something
    kMetrics,  // one for the counts of this server
  };

  std::string method;  // "GET", which answers HEAD too; empty: all
  // "/files/{id}": in place of braces one segment, which Request::parameters has under that name.
  // With a final "/": everything below.
  std::string path;
  Access access = Access::kChanges;
  std::function<Response(const Request& request)> answer;
  // Puts the principal into `head`, with what it was found by in Request::identified, or says why
  // there is none. For a route that is kPublic for the door, since its tokens are of another kind.
  std::function<std::optional<auth::Challenge>(Request& head)> identify = nullptr;
  // The body of a request may have so many bytes; more is refused before it is read.
  std::size_t body_bytes = std::numeric_limits<std::size_t>::max();
  std::string too_large = {};    // the refusal's words; empty: that it is more
  bool takes_parts = false;      // multipart/form-data is taken apart: Request::parts
  std::size_t parts_max = 100;   // so many of them at most
  bool takes_gzip = false;       // a body with that Content-Encoding is unpacked
  std::string body_schema = {};  // JSON Schema of a body of JSON, for who describes it; empty: none
  // Says which threads answer it: those that read requests, which nothing may hold for long; or
  // those for calls, where what waits until code has run steps aside (mcp/worker_pool.h).
  enum class Work { kShort, kCall };
  Work work = Work::kShort;
  // Says, as this API does, what was refused before `answer` was asked; null: as an error of
  // JSON-RPC.
  std::function<Response(int status, const std::string& message)> refusal = nullptr;
  // When it is set, `answer` is not. Once the head has been let in, the connection is this one's,
  // which is called on a thread for `work`.
  std::function<void(const Request& head, Taken connection)> tunnel = nullptr;
  // When it is set, the route is there at hosts with such a first label (door.h), where nothing
  // else is: what answers at them is of another origin than this server. Without a path it is there
  // alone, and answers whatever is asked.
  std::function<bool(const std::string& label)> takes_label = nullptr;
  // It is answered whatever name Host has: probes ask by address, or by a name of their own.
  bool any_host = false;
};

class Routes {
 public:
  explicit Routes(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Found {
    const Route* route = nullptr;  // null: nothing is served at this path
    bool takes_method = false;
    std::string allow;  // the header Allow: methods that the path takes
    std::map<std::string, std::string> parameters = {};
  };
  [[nodiscard]] Found find(const Request& head) const;

 private:
  const std::vector<Route> routes_;
};

}  // namespace mcp::http
