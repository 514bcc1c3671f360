// hutch doctor: what this host offers, proved by a real box.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <vector>

#include "sandbox/probe/probe.h"
#include "sandbox/zygote.h"
#include "tools/cli/commands.h"

namespace tools::cli {

using sandbox::probe::Finding;

namespace {

// One run in a session of its own, deleted afterwards.
base::Result<std::string> run_in_a_box(const Settings& settings) {
  const auto app = TRY(Application::open(settings));
  const auto session = TRY(app->sessions().create(app->principal_id(), {})).session;
  auto proved = [&]() -> base::Result<std::string> {
    sandbox::RunRequest request;
    request.language = sandbox::Language::kBash;
    request.timeout_seconds = 20;
    request.code =
        "set -e; test $(id -u) = 1000; test ! -e /sys/kernel; test ! -e /etc/shadow; "
        "grep -q 'Seccomp:.2' /proc/self/status; grep -q 'NoNewPrivs:.1' /proc/self/status; "
        "grep -q 'CapBnd:.0000000000000000' /proc/self/status; "
        "test $(tail -n +3 /proc/net/dev | wc -l) = 1; echo held";
    const auto run = TRY(app->sessions().start_run(session, std::move(request)));
    sandbox::WaitOptions options;
    options.timeout = std::chrono::seconds(30);
    const auto ended =
        TRY(app->sessions().wait_run(app->principal_id(), run.run.run_id, options, {}));
    return app->sessions().read_run_file(session.id, ended.run.run_id, "stdout", 0, 100);
  }();
  TRY(app->sessions().destroy(app->principal_id(), session.id));
  return proved;
}

Finding helpers_finding(const Settings& settings) {
  const auto config = sandbox_config(settings);
  if (config.ok()) return {"hutch itself", Finding::State::kGood, "whole", ""};
  return {"hutch itself", Finding::State::kMissing, config.error().message,
          "install it whole, with cmake --install, or copy bin and share together"};
}

Finding box_finding(const Settings& settings, const std::vector<Finding>& others) {
  const auto proved = run_in_a_box(settings);
  if (!proved.ok()) {
    const bool explained = std::any_of(others.begin(), others.end(), [](const Finding& finding) {
      return finding.state != Finding::State::kGood;
    });
    return {"a real box", Finding::State::kMissing, proved.error().message,
            explained ? "see the lines above that are not good"
                      : "please report this with the output of hutch doctor --json"};
  }
  if (proved.value() != "held\n") {
    return {"a real box", Finding::State::kMissing, "started, but does not hold what it must",
            "please report this with the output of hutch doctor --json"};
  }
  return {"a real box", Finding::State::kGood,
          "started: own ids, no capability, no_new_privs, seccomp, loopback only, no host files",
          ""};
}

// Whether a session comes from a zygote, which this starts where there is none.
Finding zygote_finding(Settings settings) {
  constexpr std::chrono::seconds kPatience{30};
  const char* layer = "zygote";
  const std::string without = "sessions start Python themselves: ";
  if (!settings.zygote) {
    return {layer, Finding::State::kWeaker, without + "switched off",
            "zygote = true in the configuration"};
  }
  settings.serves = true;
  settings.spare_sessions = 0;
  const auto proved = [&]() -> base::Result<bool> {
    const auto app = TRY(Application::open(settings));
    TRY(sandbox::wait_for_zygote(settings.zygote_directory, kPatience));
    const auto session = TRY(app->sessions().create(app->principal_id(), {})).session;
    TRY(app->sessions().destroy(app->principal_id(), session.id));
    return session.isolation.value_or("").find("forked from the zygote") != std::string::npos;
  }();
  if (!proved.ok()) return {layer, Finding::State::kWeaker, without + proved.error().message, ""};
  if (!proved.value()) {
    return {layer, Finding::State::kWeaker, without + "the zygote could not enter a box", ""};
  }
  return {layer, Finding::State::kGood,
          sandbox::words_of_zygote(settings.zygote_directory) + ": sessions fork their Python",
          ""};
}

}  // namespace

base::Result<int> run_doctor(const Settings& settings, bool as_json) {
  sandbox::probe::HostPaths host;
  host.state_directory = settings.state_directory;
  auto findings = sandbox::probe::probe_host(host);
  findings.push_back(helpers_finding(settings));
  findings.push_back(box_finding(settings, findings));
  findings.push_back(zygote_finding(settings));
  if (as_json) {
    std::cout << sandbox::probe::to_json(findings) << "\n";
  } else {
    std::cout << sandbox::probe::render_table(findings, ::isatty(STDOUT_FILENO) == 1);
  }
  for (const Finding& finding : findings) {
    if (finding.state == Finding::State::kMissing) return 1;
  }
  return 0;
}

}  // namespace tools::cli
