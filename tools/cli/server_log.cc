#include "tools/cli/server_log.h"

#include <chrono>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "tools/log_members.h"

namespace tools::cli {
namespace {

void set_members(const mcp::http::Request& request) {
  LogMembers::set("principal", request.principal.id);
  LogMembers::set("request_id", request.id);
}

// Text of a client must not look like a line of ours.
std::string printable(const std::string& text) {
  constexpr std::size_t kLoggedMax = 200;
  std::string result = text.substr(0, kLoggedMax);
  for (char& byte : result) {
    if (byte < 0x21 || byte > 0x7e) byte = '?';
  }
  return result;
}

}  // namespace

void log_events_of(mcp::Server& server) {
  server.on_fault([](const std::string& what) { spdlog::error("{}", what); });
  server.on_call(
      [](const mcp::CallContext& context, const std::string& what, std::chrono::milliseconds took) {
        const LogMembers members;
        LogMembers::set("principal", context.principal().id);
        LogMembers::set("request_id", context.request_id());
        if (context.trace_parent().empty()) {
          spdlog::debug("{} {} ms", what, took.count());
        } else {
          spdlog::info("{} {} ms traceparent {}", what, took.count(), context.trace_parent());
        }
      });
}

void log_access(const mcp::http::AccessRecord& record) {
  using std::chrono::milliseconds;
  const LogMembers members;
  set_members(record.request);
  // Who has the id has the file.
  const bool is_link = record.request.path.starts_with("/shared/");
  spdlog::info("request {} {} {} {} {} {} ms{}", record.request.id, record.request.peer,
               record.request.method, is_link ? "/shared/..." : printable(record.request.path),
               record.status, std::chrono::duration_cast<milliseconds>(record.took).count(),
               record.streams ? " (streams)" : "");
}

void name_requests(std::vector<mcp::http::Route>& routes) {
  for (mcp::http::Route& route : routes) {
    if (route.answer) {
      route.answer = [answer = std::move(route.answer)](const mcp::http::Request& request) {
        const LogMembers members;
        set_members(request);
        return answer(request);
      };
    }
    if (route.tunnel) {
      route.tunnel = [tunnel = std::move(route.tunnel)](const mcp::http::Request& head,
                                                        mcp::http::Taken connection) {
        const LogMembers members;
        set_members(head);
        tunnel(head, std::move(connection));
      };
    }
  }
}

}  // namespace tools::cli
