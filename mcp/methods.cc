#include "mcp/methods.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "mcp/handlers.h"
#include "mcp/subscriptions.h"

namespace mcp {

using nlohmann::json;
using wire::Format;

namespace {

bool always(const Server&, const Format&) { return true; }

Server::Answer ping(const Server&, Call&) { return json::object(); }

Server::Answer discover(const Server& server, Call& call) { return server.discover(call.format()); }

Server::Answer set_log_level(const Server&, Call& call) {
  const auto level = read_log_level(call.params().value("level", json()));
  if (!level) return wrong_params("unknown level");
  call.surroundings().log_level = *level;
  return json::object();
}

Server::Answer subscribe(const Server&, Call& call) {
  return call.surroundings().subscriptions->subscribe(call.params());
}

Server::Answer unsubscribe(const Server&, Call& call) {
  return call.surroundings().subscriptions->unsubscribe(call.params());
}

bool can_subscribe(const Server& server, const Format&) {
  return server.resources() != nullptr && server.resources()->can_subscribe();
}

bool can_listen(const Server& server, const Format&) {
  return server.has_changes() || server.tasks() != nullptr;
}

bool has_resources(const Server& server, const Format&) { return server.resources() != nullptr; }

bool has_prompts(const Server& server, const Format&) { return !server.prompts().empty(); }

bool has_logging(const Server& server, const Format&) { return server.has_logging(); }

bool has_completions(const Server& server, const Format&) { return server.has_completions(); }

bool has_tasks(const Server& server, const Format& format) {
  return server.tasks() != nullptr && (format.modern || format.has_core_tasks);
}

constexpr bool kLegacy = true;
constexpr bool kModern = true;
constexpr bool kQuick = true;

constexpr std::array kMethods{
    Method{"ping", kLegacy, !kModern, kQuick, always, ping},
    Method{"server/discover", !kLegacy, kModern, kQuick, always, discover},
    Method{"logging/setLevel", kLegacy, !kModern, kQuick, has_logging, set_log_level},
    Method{"tools/list", kLegacy, kModern, kQuick, always, list_tools},
    Method{"tools/call", kLegacy, kModern, !kQuick, always, call_tool},
    Method{"resources/list", kLegacy, kModern, !kQuick, has_resources, list_resources},
    Method{"resources/templates/list", kLegacy, kModern, kQuick, has_resources, list_templates},
    Method{"resources/read", kLegacy, kModern, !kQuick, has_resources, read_resource},
    Method{"resources/subscribe", kLegacy, !kModern, !kQuick, can_subscribe, subscribe},
    Method{"resources/unsubscribe", kLegacy, !kModern, !kQuick, can_subscribe, unsubscribe},
    Method{kListen, !kLegacy, kModern, kQuick, can_listen, nullptr},
    Method{"prompts/list", kLegacy, kModern, kQuick, has_prompts, list_prompts},
    Method{"prompts/get", kLegacy, kModern, !kQuick, has_prompts, get_prompt},
    Method{"completion/complete", kLegacy, kModern, !kQuick, has_completions, complete},
    Method{"tasks/get", kLegacy, kModern, !kQuick, has_tasks, get_task},
    Method{"tasks/cancel", kLegacy, kModern, !kQuick, has_tasks, cancel_task},
    Method{"tasks/update", !kLegacy, kModern, !kQuick, has_tasks, update_task},
    Method{"tasks/list", kLegacy, !kModern, !kQuick, has_tasks, list_tasks},
    Method{"tasks/result", kLegacy, !kModern, !kQuick, has_tasks, task_result},
};

}  // namespace

const Method* find_method(std::string_view name, const Server& server, const Format& format) {
  const auto* method = std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& one) {
    return one.name == name && (format.modern ? one.modern : one.legacy);
  });
  return method != kMethods.end() && method->offered(server, format) ? method : nullptr;
}

}  // namespace mcp
