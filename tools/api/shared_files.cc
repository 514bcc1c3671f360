#include "tools/api/shared_files.h"

#include <array>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "sessions/share_table.h"
#include "tools/api/download.h"
#include "tools/api/json_answer.h"
#include "tools/api/page/shared_css.h"
#include "tools/api/page/shared_html.h"
#include "tools/api/page/shared_js.h"

namespace tools::api {

using mcp::http::Request;
using mcp::http::Response;
using mcp::http::Route;
using nlohmann::json;

namespace {

constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "media-src 'self'; frame-src 'self'; object-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

// Says what a file may do that is looked at in the page. A page out of a sandbox is of an origin of
// its own and loads nothing; browsers show PDF with a program of their own, and not in a sandbox.
struct ViewPolicy {
  std::string_view type;
  const char* policy;
};
constexpr std::array<ViewPolicy, 3> kViewPolicies{
    {{"text/html",
      "sandbox allow-scripts; default-src 'unsafe-inline' data: blob:; "
      "script-src 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'self'"},
     {"application/pdf",
      "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"},
     {"image/svg+xml",
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
      "frame-ancestors 'self'"}}};

std::string policy_of_view(std::string_view type) {
  for (const ViewPolicy& known : kViewPolicies) {
    if (type == known.type) return known.policy;
  }
  return "";
}

json about(const sessions::Share& share) {
  json value = {{"id", share.id},         {"filename", share.filename},
                {"bytes", share.bytes},   {"mime_type", share.mime_type},
                {"sha256", share.sha256}, {"created_at", base::to_rfc3339(share.created_at)}};
  if (share.expires_at) value["expires_at"] = base::to_rfc3339(*share.expires_at);
  return value;
}

Response static_file(std::string_view bytes, const char* type) {
  Response response;
  response.content_type = type;
  response.body = bytes;
  add_careful_headers(response, kPagePolicy);
  return response;
}

Response page(const Request& request, sessions::ShareTable& shares) {
  const auto asked = request.query.find("part");
  const std::string part = asked == request.query.end() ? "" : asked->second;
  if (part == "css") return static_file(kSharedCss, "text/css; charset=utf-8");
  if (part == "js") return static_file(kSharedJs, "text/javascript; charset=utf-8");
  const auto share = shares.find_linked(request.parameters.at("id"));
  if (part == "about") {
    Response response =
        share.ok() ? json_answer(200, about(share.value()))
                   : json_answer(status_of(share.error()), {{"error", share.error().message}});
    add_careful_headers(response, kPagePolicy);
    return response;
  }
  Response response = static_file(kSharedHtml, "text/html; charset=utf-8");
  if (!share.ok()) response.status = status_of(share.error());
  return response;
}

Response file(const Request& request, sessions::ShareTable& shares, const share::FileShare& files) {
  auto share = shares.find_linked(request.parameters.at("id"));
  if (share.ok() && share.value().filename != request.parameters.at("filename")) {
    share = base::error(base::Error::Kind::kNotFound, "this link has another name at its end");
  }
  auto content = share.ok() ? files.open_stored(share.value()) : share.error();
  if (!content.ok()) {
    Response refusal;
    refusal.status = share.ok() ? 500 : status_of(share.error());
    refusal.content_type = "text/plain; charset=utf-8";
    // A path of this machine is for nobody who comes by a link.
    refusal.body = share.ok() ? "the file cannot be read\n" : share.error().message + "\n";
    return refusal;
  }
  const sessions::Share& found = share.value();
  // A page out of a sandbox is shown within ours, not as one of this server's.
  if (request.query.contains("view") && request.header("Sec-Fetch-Dest") == "document") {
    Response elsewhere;
    elsewhere.status = 303;
    elsewhere.headers.emplace_back("Location", "../" + found.id);
    return elsewhere;
  }
  Download download;
  download.file = std::move(content).value();
  download.bytes = found.bytes;
  download.filename = found.filename;
  download.etag = found.sha256;
  download.content_type = found.mime_type;
  download.is_inline = request.query.contains("view");
  if (download.is_inline) download.policy = policy_of_view(found.mime_type);
  return answer_with(request, std::move(download));
}

}  // namespace

std::vector<Route> shared_routes(sessions::ShareTable& shares, const share::FileShare& share) {
  Route of_page{"GET", "/shared/{id}", Route::Access::kPublic,
                [&shares](const Request& request) { return page(request, shares); }};
  Route of_file{"GET", "/shared/{id}/{filename}", Route::Access::kPublic,
                [&shares, &share](const Request& request) { return file(request, shares, share); }};
  Route removal{"DELETE", "/shared/{id}", Route::Access::kChanges,
                [&share](const Request& request) {
                  const auto done = share.revoke(request.principal.id, request.parameters.at("id"));
                  if (done.ok()) return empty_answer();
                  return json_answer(status_of(done.error()), {{"error", done.error().message}});
                }};
  of_page.body_bytes = of_file.body_bytes = removal.body_bytes = 0;
  return {std::move(of_page), std::move(of_file), std::move(removal)};
}

}  // namespace tools::api
