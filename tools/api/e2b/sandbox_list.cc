// E2B's list of sandboxes, a page at a time.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "mcp/http/library.h"
#include "sandbox/environment.h"
#include "sessions/manager_config.h"
#include "sessions/session.h"
#include "sessions/session_states.h"
#include "tools/api/api.h"
#include "tools/api/create_sandbox.h"
#include "tools/api/e2b/e2b.h"
#include "tools/api/json_answer.h"
#include "tools/api/sandbox_view.h"

namespace tools::api::e2b {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using nlohmann::json;

namespace {

// A query in a query, whose names and values the SDKs encode once more.
json wanted_metadata(const Request& request) {
  json wanted = json::object();
  const auto asked = request.query.find("metadata");
  if (asked == request.query.end()) return wanted;
  for (const auto& [name, value] : mcp::http::parse_query(asked->second)) {
    wanted.update(json(mcp::http::parse_query(name + "=" + value)));
  }
  return wanted;
}

bool has_all(const json& metadata, const json& wanted) {
  return std::ranges::all_of(wanted.items(), [&metadata](const auto& entry) {
    return metadata.value(entry.key(), json()) == entry.value();
  });
}

// Its place in a list by the time when they were made.
using PagePlace = std::pair<std::int64_t, std::string>;

PagePlace page_place_of(const sessions::Session& session) {
  return {session.created_at, session.id};
}

struct Listing {
  std::string states;  // "running,paused"; empty: any
  json metadata;       // each of it has all that is here
  std::optional<std::string> template_name;
  std::int64_t started_after_ms = 0;
  bool oldest_first = false;
  std::optional<PagePlace> after;  // the last one of the page before
  std::size_t limit = 0;
};

base::Result<PagePlace> place_in(const std::string& token) {
  PagePlace place;
  const char* end = token.data() + token.size();
  const auto [stopped, error] = std::from_chars(token.data(), end, place.first);
  if (error != std::errc() || stopped == end || *stopped != '.') {
    return base::error(Error::Kind::kInvalid,
                       "nextToken is none that a list has given in x-next-token");
  }
  place.second = std::string(stopped + 1, end);
  return place;
}

base::Result<Listing> listing_in(const Services& services, const Request& request) {
  constexpr std::int64_t kListedMax = 100;
  const auto text_of = [&request](const char* name) -> std::optional<std::string> {
    const auto found = request.query.find(name);
    return found == request.query.end() ? std::nullopt : std::optional(found->second);
  };
  Listing listing;
  listing.states = text_of("state").value_or("");
  listing.metadata = wanted_metadata(request);
  if (const auto wanted = text_of("template")) {
    const auto& config = services.config;
    listing.template_name = template_of(*wanted);
    if (listing.template_name->empty()) {
      listing.template_name =
          sandbox::usual_template(config.environments_directory, config.usual_template);
    }
  }
  if (const auto after = text_of("startedAfter")) {
    const auto at_ms = base::from_rfc3339(*after);
    if (!at_ms) return base::error(Error::Kind::kInvalid, "startedAfter must be a time, RFC 3339");
    listing.started_after_ms = *at_ms;
  }
  listing.oldest_first = text_of("order").value_or("desc") == "asc";
  if (const auto token = text_of("nextToken")) listing.after = TRY(place_in(*token));
  const std::int64_t limit = TRY(number_in_query(request, "limit")).value_or(kListedMax);
  if (limit < 1 || limit > kListedMax) {
    return base::error(Error::Kind::kInvalid,
                       "limit must be from 1 to " + std::to_string(kListedMax));
  }
  listing.limit = static_cast<std::size_t>(limit);
  return listing;
}

bool is_asked_for(const sessions::Session& session, const json& one, const Listing& listing) {
  const std::string is = "," + one["state"].get<std::string>() + ",";
  if (!listing.states.empty() && ("," + listing.states + ",").find(is) == std::string::npos) {
    return false;
  }
  if (listing.template_name && session.template_name != *listing.template_name) return false;
  if (session.created_at < listing.started_after_ms) return false;
  const PagePlace place = page_place_of(session);
  const bool follows =
      !listing.after || (listing.oldest_first ? *listing.after < place : place < *listing.after);
  return follows && has_all(one["metadata"], listing.metadata);
}

}  // namespace

base::Result<Response> list_sandboxes(const Services& services, const Request& request) {
  const Listing listing = TRY(listing_in(services, request));
  std::map<PagePlace, json> found;
  const auto states = TRY(services.states.list(request.principal.id, std::nullopt));
  for (const auto& state : *states) {
    json one = TRY(sandbox_view(services, state.session));
    if (!is_asked_for(state.session, one, listing)) continue;
    one.erase("envdAccessToken");
    one.erase("trafficAccessToken");
    found.emplace(page_place_of(state.session), std::move(one));
  }
  json page = json::array();
  PagePlace last;
  const std::size_t all = found.size();
  while (!found.empty() && page.size() < listing.limit) {
    auto next = found.extract(listing.oldest_first ? found.begin() : std::prev(found.end()));
    last = next.key();
    page.push_back(std::move(next.mapped()));
  }
  Response answer = json_answer(200, page);
  if (page.size() < all) {
    answer.headers.emplace_back("x-next-token", std::to_string(last.first) + "." + last.second);
  }
  return answer;
}

}  // namespace tools::api::e2b
