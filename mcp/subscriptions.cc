#include "mcp/subscriptions.h"

#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "mcp/handlers.h"
#include "mcp/task_view.h"
#include "mcp/wire/shape.h"

namespace mcp {

using nlohmann::json;

namespace {

constexpr const char* kSubscriptionId = "io.modelcontextprotocol/subscriptionId";

json tag(const json& id) { return {{kSubscriptionId, id}}; }

// Returns the method of the notification that tells of a change.
const char* method_of(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kTools:
      return "notifications/tools/list_changed";
    case Change::Kind::kPrompts:
      return "notifications/prompts/list_changed";
    case Change::Kind::kResources:
      return "notifications/resources/list_changed";
    case Change::Kind::kResource:
      return "notifications/resources/updated";
    case Change::Kind::kTask:
      return "notifications/tasks";
    case Change::Kind::kTaskProgress:
      return "notifications/progress";
  }
  return nullptr;
}

// Wrong types and too much of it are errors; what is not there is not wished for.
std::optional<RpcError> read_flag(const json& wishes, const char* name, bool& flag) {
  const auto member = wishes.find(name);
  if (member == wishes.end()) return std::nullopt;
  if (!member->is_boolean()) return wrong_params(std::string(name) + " must be a boolean");
  flag = member->get<bool>();
  return std::nullopt;
}

std::optional<RpcError> read_set(const json& wishes, const char* name, std::set<std::string>& set) {
  const auto member = wishes.find(name);
  if (member == wishes.end()) return std::nullopt;
  if (!member->is_array()) return wrong_params(std::string(name) + " must be an array");
  for (const json& one : *member) {
    if (!one.is_string() || one.get_ref<const std::string&>().size() > kWatchedBytesMax) {
      return wrong_params(std::string(name) + " must hold strings of at most 4096 bytes");
    }
    set.insert(one.get<std::string>());
  }
  if (set.size() > kWatchedEachMax) {
    return wrong_params(std::string(name) + " may hold 1000 strings at most");
  }
  return std::nullopt;
}

std::optional<RpcError> read_filter(const json& params, Changes::Filter& filter) {
  const auto wishes = params.find("notifications");
  if (wishes == params.end() || !wishes->is_object()) {
    return wrong_params("subscriptions/listen needs an object of notifications");
  }
  if (auto wrong = read_flag(*wishes, "toolsListChanged", filter.tools)) return wrong;
  if (auto wrong = read_flag(*wishes, "promptsListChanged", filter.prompts)) return wrong;
  if (auto wrong = read_flag(*wishes, "resourcesListChanged", filter.resources)) return wrong;
  if (auto wrong = read_set(*wishes, "resourceSubscriptions", filter.uris)) return wrong;
  return read_set(*wishes, "taskIds", filter.task_ids);
}

// Without what this server never tells this principal.
Changes::Filter served_of(Changes::Filter filter, const Server& server,
                          const Principal& principal) {
  const ResourceProvider* resources = server.resources();
  filter.tools = filter.tools && server.has_changing_tools();
  filter.prompts = filter.prompts && server.has_changing_prompts();
  filter.resources = filter.resources && resources != nullptr && resources->list_may_change();
  std::erase_if(filter.uris, [&](const std::string& uri) {
    return resources == nullptr || !resources->can_subscribe() || !resources->can_watch(uri);
  });
  std::erase_if(filter.task_ids, [&](const std::string& id) {
    return server.tasks() == nullptr || !server.tasks()->find(principal, id);
  });
  return filter;
}

json to_json(const Changes::Filter& filter) {
  json wishes = json::object();
  if (filter.tools) wishes["toolsListChanged"] = true;
  if (filter.prompts) wishes["promptsListChanged"] = true;
  if (filter.resources) wishes["resourcesListChanged"] = true;
  if (!filter.uris.empty()) wishes["resourceSubscriptions"] = filter.uris;
  if (!filter.task_ids.empty()) wishes["taskIds"] = filter.task_ids;
  return wishes;
}

json params_of(const Server& server, const Principal& principal, const Change& change,
               const json& declared, const wire::Format& format) {
  if (change.kind == Change::Kind::kResource) return {{"uri", change.subject}};
  if (change.kind != Change::Kind::kTask) return json::object();
  const auto task = server.tasks()->find(principal, change.subject);
  if (!task) return nullptr;
  return view_task(*server.tasks(), principal, *task, declared, format);
}

}  // namespace

Subscriptions::Subscriptions(const Server& server, Principal principal, Send unsolicited)
    : server_(server), principal_(std::move(principal)), unsolicited_(std::move(unsolicited)) {}

Subscriptions::~Subscriptions() {
  (void)end_all(/*with_word=*/false);
  if (legacy_) server_.changes().remove(*legacy_);
}

void Subscriptions::open_legacy() {
  const std::lock_guard lock(mutex_);
  if (legacy_ || !unsolicited_ || !server_.has_changes()) return;
  const Changes::Filter filter =
      served_of({.tools = true, .prompts = true, .resources = true}, server_, principal_);
  legacy_ = server_.changes().add(
      principal_.id, filter, [this](const Change& change) { tell_legacy(change); },
      /*counted=*/false);
}

void Subscriptions::tell_legacy(const Change& change) const {
  json params = json::object();
  if (change.kind == Change::Kind::kResource) params["uri"] = change.subject;
  unsolicited_(make_notification(method_of(change.kind), std::move(params)));
}

Server::Answer Subscriptions::subscribe(const json& params) {
  const std::string* uri = find_text(params, "uri");
  if (uri == nullptr || uri->empty() || uri->size() > kWatchedBytesMax) {
    return wrong_params("uri must be a string of at most 4096 bytes");
  }
  open_legacy();
  const std::lock_guard lock(mutex_);
  // Without a way to tell it, the subscription is true and stays silent.
  if (legacy_ && !server_.changes().watch_uri(*legacy_, *uri)) {
    return wrong_params("no more than 1000 resources can be subscribed to at once");
  }
  return json::object();
}

Server::Answer Subscriptions::unsubscribe(const json& params) {
  const std::string* uri = find_text(params, "uri");
  if (uri == nullptr) return wrong_params("uri must be a string");
  const std::lock_guard lock(mutex_);
  if (legacy_) server_.changes().unwatch_uri(*legacy_, *uri);
  return json::object();
}

std::optional<RpcError> Subscriptions::listen(const Request& request,
                                              const std::shared_ptr<Exchange>& exchange) {
  const json& id = request.message.id;
  Changes::Filter filter;
  if (auto wrong = read_filter(request.message.params, filter)) return wrong;
  if (request.message.params["notifications"].contains("taskIds") && server_.tasks() != nullptr) {
    if (auto refused = refuse_tasks(request.format, request.capabilities)) return refused;
  }
  filter = served_of(std::move(filter), server_, principal_);
  json acknowledged = make_notification("notifications/subscriptions/acknowledged",
                                        {{"_meta", tag(id)}, {"notifications", to_json(filter)}});
  // `tell` copies what it needs of the request: the connection may have gone when it tells
  // something.
  const auto tell = [&server = server_, principal = principal_, exchange, id,
                     &format = request.format,
                     declared = request.capabilities](const Change& change) {
    json params = params_of(server, principal, change, declared, format);
    if (params.is_null()) return;
    params["_meta"].update(tag(id));
    exchange->send_if_room(make_notification(method_of(change.kind), std::move(params)));
  };
  const std::lock_guard lock(mutex_);
  const auto listener = server_.changes().add(principal_.id, filter, tell, /*counted=*/true,
                                              [&] { exchange->send(acknowledged); });
  if (!listener) {
    return RpcError{kInternalError, "too many subscriptions are open", nullptr, nullptr};
  }
  listens_[id] = {*listener, exchange, &request.format};
  return std::nullopt;
}

bool Subscriptions::end(const json& id) {
  Listen ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = listens_.find(id);
    if (found == listens_.end()) return false;
    ended = std::move(found->second);
    listens_.erase(found);
  }
  server_.changes().remove(ended.listener);
  return true;
}

std::vector<json> Subscriptions::end_all(bool with_word) {
  std::map<json, Listen> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(listens_);
  }
  std::vector<json> ids;
  for (auto& [id, listen] : ended) {
    server_.changes().remove(listen.listener);
    ids.push_back(id);
    if (!with_word) continue;
    listen.exchange->send_if_room(make_notification(
        "notifications/cancelled",
        {{"requestId", id}, {"reason", "the server ends this subscription"}, {"_meta", tag(id)}}));
    json result;
    result["_meta"] = tag(id);
    listen.exchange->send_if_room(make_result(
        id,
        wire::finish_result(std::move(result), server_.identity(*listen.format), *listen.format)));
  }
  return ids;
}

}  // namespace mcp
