#include <charconv>
#include <string>
#include <utility>

#include "tools/api/e2b/e2b.h"
#include "tools/ports/link.h"

namespace tools::api::e2b {

using mcp::http::Route;

namespace {

bool is_ours(const std::string& label) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(label.data(), label.data() + label.size(), port);
  return read.ec == std::errc() && ports::is_port_of_ours(port);
}

}  // namespace

std::vector<Route> routes(const Services& services) {
  std::vector<Route> all = control_routes(services);
  for (Route& route : listing_routes(services)) all.push_back(std::move(route));
  for (auto&& of_sandboxes : {process_routes(services), filesystem_routes(services),
                              watch_routes(services), interpreter_routes(services)}) {
    for (Route route : of_sandboxes) {
      route.takes_label = is_ours;
      all.push_back(std::move(route));
    }
  }
  return all;
}

}  // namespace tools::api::e2b
