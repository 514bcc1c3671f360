// hutch doctor: what this host offers, proved by a real box.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <vector>

#include "sandbox/environment.h"
#include "sandbox/probe/probe.h"
#include "sandbox/zygote.h"
#include "sessions/certificates.h"
#include "sessions/sessions.h"
#include "sessions/store.h"
#include "sessions/upkeep_table.h"
#include "tools/cli/commands.h"
#include "tools/cli/doctor_proof.h"
#include "tools/cli/network_proxy.h"

namespace tools::cli {

using sandbox::probe::Finding;

namespace {

Finding helpers_finding(const Settings& settings) {
  const auto config = sandbox_config(settings);
  if (config.ok()) return {"hutch itself", Finding::State::kGood, "whole", ""};
  return {"hutch itself", Finding::State::kMissing, config.error().message,
          "install it whole, with cmake --install, or copy bin and share together"};
}

Finding box_finding(const base::Result<BoxProof>& proof, const std::vector<Finding>& others) {
  const char* layer = "a real box";
  const char* report = "please report this with the output of hutch doctor --json";
  if (!proof.ok()) {
    const bool explained = std::any_of(others.begin(), others.end(), [](const Finding& finding) {
      return finding.state != Finding::State::kGood;
    });
    return {layer, Finding::State::kMissing, proof.error().message,
            explained ? "see the lines above that are not good" : report};
  }
  if (!proof.value().holds) {
    const auto& tried = proof.value().languages.at("bash");
    return {layer, Finding::State::kMissing,
            "started, but does not hold what it must" + (tried.works ? "" : ": " + tried.said),
            report};
  }
  return {layer, Finding::State::kGood,
          "started: own ids, no capability, no_new_privs, seccomp, loopback only, no host files",
          ""};
}

// Says whether a session comes from a zygote, which this starts where there is none.
Finding zygote_finding(Settings settings, bool has_python) {
  constexpr std::chrono::seconds kPatience{30};
  const char* layer = "zygote";
  const std::string without = "sessions start Python themselves: ";
  if (!settings.zygote) {
    return {layer, Finding::State::kWeaker, without + "switched off",
            "zygote = true in the configuration"};
  }
  if (!has_python) {
    return {layer, Finding::State::kWeaker, "none: it is a Python, and sessions have none",
            "as for Python, SQL above"};
  }
  settings.serves = true;
  settings.spare_sessions = 0;
  const auto config = sandbox_config(settings);
  if (!config.ok()) return {layer, Finding::State::kWeaker, without + config.error().message, ""};
  const std::string directory =
      sandbox::zygote_directory_of(settings.zygote_directory, config.value().usual_environment);
  const auto proved = [&]() -> base::Result<bool> {
    const auto app = TRY(Application::open(settings));
    TRY(sandbox::wait_for_zygote(directory, kPatience));
    const auto session = TRY(app->services().sessions.create(app->principal_id(), {})).session;
    TRY(app->services().sessions.destroy(app->principal_id(), session.id));
    return session.isolation && session.isolation->python == sandbox::kForkedFromZygote;
  }();
  if (!proved.ok()) return {layer, Finding::State::kWeaker, without + proved.error().message, ""};
  if (!proved.value()) {
    return {layer, Finding::State::kWeaker, without + "the zygote could not enter a box", ""};
  }
  return {layer, Finding::State::kGood,
          sandbox::words_of_zygote(directory) + ": sessions fork their Python", ""};
}

Finding environment_finding(const Settings& settings, const std::string& directory) {
  const char* layer = "environment";
  if (!directory.empty()) {
    return {layer, Finding::State::kGood,
            sandbox::usual_template(settings.environments_directory, settings.template_name) +
                ", in " + directory,
            ""};
  }
  return {layer, Finding::State::kWeaker, "none: sessions have the packages of this machine",
          "hutch environments build"};
}

Finding memory_finding(const Settings& settings) {
  const std::string each = std::to_string(settings.default_limits.memory_mb) + " MB each";
  if (settings.default_limits.memory_mb >= sandbox::Limits().memory_mb) {
    return {"default memory", Finding::State::kGood, each, ""};
  }
  return {"default memory", Finding::State::kWeaker,
          each + (settings.default_limits.memory_mb == usual_memory_mb()
                      ? ": half of what this machine has"
                      : ", as the configuration says"),
          "memory_mb in [limits] of the configuration, or create_session's limits, give more"};
}

// Nothing, but where sessions are kept longer than was said.
std::optional<Finding> deletion_finding(const Settings& settings) {
  const std::string database = sessions::database_in(settings.state_directory);
  if (::access(database.c_str(), R_OK) != 0) return std::nullopt;
  const auto store = sessions::Store::open(database);
  if (!store.ok()) return std::nullopt;  // other lines say so
  const auto upkeep = store.value()->upkeep.find();
  if (!upkeep.ok() || !upkeep.value().held_at) return std::nullopt;
  return Finding{"deletion", Finding::State::kWeaker, sessions::words_of_hold(upkeep.value()),
                 "set the clock if it is wrong"};
}

// Says in words what the exit status says.
std::string verdict(const std::vector<Finding>& findings) {
  const auto count = [&findings](Finding::State state) {
    return std::count_if(findings.begin(), findings.end(),
                         [state](const Finding& finding) { return finding.state == state; });
  };
  if (count(Finding::State::kMissing) > 0) return "No session can start here.";
  const auto weaker = count(Finding::State::kWeaker);
  if (weaker == 0) return "Sessions start here, with everything.";
  return "Sessions start here; " + std::to_string(weaker) + " of these lines could be better.";
}

// Names the programs that read none of the variables by which others find the certificates of a
// session.
std::string exceptions() {
  const bool has_java = ::access("/usr/bin/java", X_OK) == 0;  // /usr is that of sessions, too
  return std::string("; where requests are looked into, not with ") + (has_java ? "Java, " : "") +
         "certifi of other environments";
}

std::string way_to_hosts(const Settings& settings) {
  const auto proxy = network_proxy(settings, process_environment());
  if (!proxy.ok() || proxy.value().host.empty()) return "";
  return "; hosts would be reached by the proxy " + proxy.value().host + ":" +
         std::to_string(proxy.value().port);
}

Finding network_finding(const Settings& settings, const BoxProof::Trial& tried) {
  const std::string layer = "network";
  if (sessions::host_roots().empty()) {
    return {layer, Finding::State::kWeaker,
            "no certificates to trust: programs cannot verify any host, and no credential is added",
            "install ca-certificates, or name a file of them by SSL_CERT_FILE"};
  }
  if (tried.works) {
    return {layer, Finding::State::kGood,
            "a session reached the name that it was allowed, and no other" +
                way_to_hosts(settings) + exceptions(),
            ""};
  }
  return {layer, Finding::State::kWeaker,
          "no session can have one: " + tried.said + "; all else works without",
          "see egress.log below egress in the state directory"};
}

}  // namespace

base::Result<int> run_doctor(const Settings& settings, DoctorView view) {
  sandbox::probe::HostPaths host;
  host.state_directory = settings.state_directory;
  host.search_path = process_environment()("PATH");
  host.home = process_environment()("HOME");
  if (const auto config = sandbox_config(settings); config.ok()) {
    host.environment_directory = config.value().usual_environment;
  }
  auto findings = sandbox::probe::probe_host(host);
  findings.push_back(helpers_finding(settings));
  const auto proof = prove_in_a_box(settings);
  if (proof.ok() && proof.value().holds) correct(findings, proof.value());
  findings.push_back(box_finding(proof, findings));
  if (proof.ok()) {
    findings.push_back(network_finding(settings, proof.value().network));
    for (Finding& finding : limit_findings(proof.value().isolation)) {
      findings.push_back(std::move(finding));
    }
  }
  findings.push_back(environment_finding(settings, host.environment_directory));
  findings.push_back(memory_finding(settings));
  const bool has_python = !proof.ok() || proof.value().languages.at("python").works;
  findings.push_back(zygote_finding(settings, has_python));
  if (auto held = deletion_finding(settings)) findings.push_back(std::move(*held));
  const std::string last_word = verdict(findings);
  if (view == DoctorView::kImprovable) {
    std::erase_if(findings,
                  [](const Finding& finding) { return finding.state == Finding::State::kGood; });
  }
  if (view == DoctorView::kJson) {
    std::cout << sandbox::probe::to_json(findings) << "\n";
  } else {
    std::cout << sandbox::probe::render_table(findings, ::isatty(STDOUT_FILENO) == 1) << last_word
              << "\n";
  }
  const bool starts = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == Finding::State::kMissing;
  });
  return starts ? 0 : 1;
}

}  // namespace tools::cli
