#include "mcp/http/endpoint.h"

#include <exception>
#include <utility>

#include "mcp/http/status.h"
#include "mcp/http/transport_parts.h"

namespace mcp::http {
namespace {

Response refuse_as(const Route& route, int status, const std::string& message) {
  return route.refusal ? route.refusal(status, message) : refuse(status, message);
}

Response refuse_as(const Route& route, const auth::Challenge& challenge) {
  Response response = refuse(challenge);
  if (!challenge.json_body.empty()) {
    response.content_type = "application/json";
    response.body = challenge.json_body;
    return response;
  }
  if (!route.refusal) return response;
  Response own = route.refusal(challenge.status, challenge.message);
  own.headers.insert(own.headers.end(), response.headers.begin(), response.headers.end());
  return own;
}

std::string in_seconds(int seconds) {
  return " in " + std::to_string(seconds) + (seconds == 1 ? " second" : " seconds");
}

std::string soon() { return in_seconds(kRetryAfterSeconds); }

// Explains a status that the transport gave, so that the client can do something about it.
std::string reason_of(int status, const Route& route) {
  switch (status) {
    case kTooLarge:
      return route.too_large.empty() ? "the body is larger than this path takes" : route.too_large;
    case kRequestTimeout:
      return "the body came too slowly, or not at all";
    case kUnavailable:
      return "too much is being sent here at once: try again" + soon();
    case kTooMany:
      return "too many calls at once: try again" + soon();
    case kInternalError:
      return "hutch failed at this: its log says more";
    default:
      return "the body cannot be read as its headers say";
  }
}

}  // namespace

std::optional<Handler::Body> Endpoint::admit(Request& head, Response& refusal) {
  Routes::Found found = routes_.find(head);
  head.parameters = std::move(found.parameters);
  if (!come_in(head, found, refusal)) {
    door_.add_cross_origin(head, refusal);
    return std::nullopt;
  }
  if (found.route->tunnel) {
    refusal.take_over = take_over(*found.route, head);
    return std::nullopt;
  }
  const Route& route = *found.route;
  return Body{route.body_bytes, route.takes_parts, route.parts_max, route.takes_gzip};
}

bool Endpoint::come_in(Request& head, const Routes::Found& found, Response& refusal) const {
  const bool any_host = found.route != nullptr && found.route->any_host;
  if (!door_.check_place(head, refusal, any_host)) return false;
  if (found.route == nullptr) {
    refusal = refuse_path("nothing is served here: MCP is at /mcp");
    return false;
  }
  const Route& route = *found.route;
  if (!found.takes_method) {
    refusal = refuse_as(route, 405, "this path takes " + found.allow);
    refusal.headers.emplace_back("Allow", found.allow);
    return false;
  }
  const bool is_public = route.access == Route::Access::kPublic;
  if (is_public && !route.identify) return true;
  auto challenge = is_public ? route.identify(head) : door_.check_token(head);
  if (!challenge && !is_public && options_.may_ask) {
    challenge = options_.may_ask(head.principal, route.access);
  }
  if (challenge) refusal = refuse_as(route, *challenge);
  return !challenge;
}

Response Endpoint::refused(const Request& head, int status, const std::string& why) {
  const auto found = routes_.find(head);
  Response response;
  if (found.route != nullptr) {
    response = refuse_as(*found.route, status, why.empty() ? reason_of(status, *found.route) : why);
  }
  response.status = status;
  const bool wants_room = status == kTooMany || status == kUnavailable;
  if (wants_room) add_retry_after(response);
  door_.add_cross_origin(head, response);
  return response;
}

Response Endpoint::handle(Request request) {
  const Route& route = *routes_.find(request).route;
  if (route.work == Route::Work::kShort) return answer(route, request);
  return answer_later(route, std::move(request));
}

Response Endpoint::answer(const Route& route, const Request& request) const {
  Response response;
  try {
    response = route.answer(request);
  } catch (const std::exception&) {
    response = refuse_as(route, kInternalError, reason_of(kInternalError, route));
  }
  door_.add_cross_origin(request, response);
  return response;
}

Response Endpoint::answer_later(const Route& route, Request request) const {
  Response response;
  std::size_t bytes = request.body.size();
  for (const Part& part : request.parts) bytes += part.content.size();
  const auto room = FairBudget::take(options_.waiting_bytes, request.principal.id, bytes);
  const auto shared = std::make_shared<const Request>(std::move(request));
  response.later = [this, &route, shared, room](const std::function<void(Response)>& done) {
    const std::string& who = shared->principal.id;
    const auto seconds = options_.too_often ? options_.too_often(who) : std::nullopt;
    const bool is_taken = !seconds && room && options_.run(who, [this, &route, shared, room, done] {
      // Nobody would hear of what came of it.
      done(shared->gone.stop_requested() ? Response() : answer(route, *shared));
    });
    if (is_taken) return;
    const int later = seconds.value_or(kRetryAfterSeconds);
    Response busy =
        refuse_as(route, kTooMany, "too many calls at once: try again" + in_seconds(later));
    add_retry_after(busy, later);
    door_.add_cross_origin(*shared, busy);
    done(std::move(busy));
  };
  return response;
}

std::function<void(Taken)> Endpoint::take_over(const Route& route, const Request& head) const {
  return [this, &route, head](Taken connection) {
    const auto shared = std::make_shared<Taken>(std::move(connection));
    // Where too much waits it ends: nothing of it is HTTP's any more.
    (void)options_.run(head.principal.id, [&route, head, shared] {
      try {
        route.tunnel(head, std::move(*shared));
      } catch (const std::exception&) {
        return;  // it ends with `shared`: nothing can be said in the midst of what is not HTTP's
      }
    });
  };
}

void Endpoint::answered(const Request& request, int status, bool streams) {
  const auto took = std::chrono::steady_clock::now() - request.begun;
  const Route* route = routes_.find(request).route;
  metrics_.count(route == nullptr ? "other" : route->path, status, took);
  if (options_.on_access) options_.on_access({request, status, streams, took});
}

}  // namespace mcp::http
