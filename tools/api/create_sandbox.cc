#include "tools/api/create_sandbox.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "sandbox/environment.h"
#include "sessions/manager_config.h"
#include "sessions/quotas_in_force.h"
#include "sessions/session_options.h"
#include "sessions/session_state.h"
#include "sessions/sessions.h"
#include "tools/api/e2b/sandbox_network.h"
#include "tools/api/json_answer.h"
#include "tools/api/sandbox_view.h"

namespace tools::api {

using base::Error;
using mcp::http::Request;
using mcp::http::Response;
using nlohmann::json;
using Type = Argument::Type;

namespace {

constexpr std::int64_t kTimeoutSecondsMax = 3600;
constexpr std::int64_t kTimeoutSecondsDefault = 300;
constexpr std::int64_t kMemoryMb = 4096;
constexpr std::int64_t kCpus = 2;
constexpr std::int64_t kDiskMb = 10240;
// The name under which others know a sandbox with nothing but what the machine has.
constexpr const char* kBaseTemplate = "base";
// Names of its own templates, for the one that sessions have unasked.
constexpr const char* kTheirTemplates[] = {"base", "code-interpreter-v1", "code-interpreter"};

// Returns the limits that the API promises, as far as the operator lets a session have them.
sandbox::Limits limits_within(const sessions::Quotas& quotas) {
  sandbox::Limits limits = quotas.default_limits;
  limits.memory_mb = std::min(kMemoryMb, quotas.most_limits.memory_mb);
  limits.cpus = std::min(kCpus, quotas.most_limits.cpus);
  limits.disk_mb = std::min(kDiskMb, quotas.most_limits.disk_mb);
  return limits;
}

Error wrong_timeout() {
  return base::error(Error::Kind::kInvalid, "timeout must be a whole number from 1 to " +
                                                std::to_string(kTimeoutSecondsMax));
}

}  // namespace

std::vector<Argument> creation_body() {
  // No member of one means another thing to the other.
  std::vector<Argument> table = e2b::creation_body();
  for (Argument& row : table) {
    if (row.name == std::string_view("timeout"))
      row.least = 0;  // create_sandbox() says what it may be
  }
  table.push_back({.name = "secure", .type = Type::kBoolean});
  return table;
}

base::Result<Response> create_sandbox(const Services& services, const Request& request,
                                      const Arguments& body) {
  const std::int64_t seconds = body.integer("timeout", kTimeoutSecondsDefault);
  if (seconds < 1) return wrong_timeout();
  // E2B's SDKs say these, and nobody else does.
  for (const char* name : {"secure", "autoPause", "allow_internet_access", "network"}) {
    if (body.has(name)) return e2b::create_sandbox(services, request, body);
  }
  if (seconds > kTimeoutSecondsMax) return wrong_timeout();
  sessions::SessionOptions options;
  options.template_name = body.text("templateID");
  if (options.template_name == kBaseTemplate) options.template_name = sandbox::kHostTemplate;
  options.lifetime_seconds = seconds;
  options.limits = limits_within(services.quotas.now());
  options.env = body.map("envVars");
  options.metadata = body.map("metadata");
  TRY(check_environment(options.env));
  return json_answer(201,
                     sandbox_view(TRY(services.sessions.create(request.principal.id, options))));
}

namespace e2b {
namespace {

// Fails with kUnsupported for wishes that are not served: no sandbox is made that would be less
// than its client believes it has.
base::Status check_wishes(const Arguments& body) {
  for (const char* name : {"iam", "mcp"}) {
    if (body.object(name).empty()) continue;
    return base::error(Error::Kind::kUnsupported, std::string(name) + " is not served here yet");
  }
  if (!body.list("volumeMounts").empty()) {
    return base::error(Error::Kind::kUnsupported, "volumeMounts are not served here yet");
  }
  return base::done();
}

}  // namespace

std::vector<Argument> creation_body() {
  return {{.name = "templateID", .most = 100},
          {.name = "timeout", .type = Type::kInteger, .least = 1, .most = kLifetimeSecondsMax},
          {.name = "envVars", .type = Type::kStringMap, .most = 200, .is_content = true},
          {.name = "metadata", .type = Type::kStringMap, .most = 100},
          {.name = "allow_internet_access", .type = Type::kBoolean},
          {.name = "autoPause", .type = Type::kBoolean},
          {.name = "autoResume", .type = Type::kObject},
          {.name = "network", .type = Type::kObject},
          {.name = "iam", .type = Type::kObject},
          {.name = "mcp", .type = Type::kObject},
          {.name = "volumeMounts", .type = Type::kStringList}};
}

std::string template_of(const std::string& wanted) {
  for (const char* theirs : kTheirTemplates) {
    if (wanted == theirs) return "";
  }
  return wanted;
}

base::Result<Response> create_sandbox(const Services& services, const Request& request,
                                      const Arguments& body) {
  sessions::SessionOptions options;
  options.template_name = template_of(body.text("templateID"));
  options.lifetime_seconds = body.integer("timeout", kTimeoutSecondsDefault);
  options.pauses_at_end = body.boolean("autoPause", false);
  options.env = body.map("envVars");
  options.metadata = body.map("metadata");
  options.working_directory = "/home/user";
  const json network = body.object("network");
  options.public_ports =
      !network.is_object() || network.value("allowPublicTraffic", json()) != json(false);
  options.port_host = TRY(host_in(network));
  const json resumes = body.object("autoResume");
  options.wakes_by_port = resumes.is_object() && resumes.value("enabled", json()) == json(true);
  TRY(check_wishes(body));
  options.network =
      TRY(network_in(body.object("network"), body.boolean("allow_internet_access", true),
                     services.config.network));
  TRY(check_environment(options.env));
  const auto made = TRY(services.sessions.create(request.principal.id, options));
  return json_answer(201, TRY(sandbox_view(services, made.session)));
}

}  // namespace e2b
}  // namespace tools::api
