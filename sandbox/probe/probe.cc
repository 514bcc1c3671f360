#include "sandbox/probe/probe.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

constexpr std::size_t kStateWidth = 9;

const char* colour_of(State state) {
  switch (state) {
    case State::kGood:
      return "\033[32m";
    case State::kWeaker:
      return "\033[33m";
    case State::kMissing:
      return "\033[31m";
  }
  return "";
}

// Settings of the host end up on somebody's terminal.
std::string printable(std::string text) {
  for (char& byte : text) {
    if ((byte >= 0 && byte < ' ') || byte == '\x7f') byte = '?';
  }
  return text;
}

}  // namespace

const char* name_of(State state) {
  switch (state) {
    case State::kGood:
      return "good";
    case State::kWeaker:
      return "weaker";
    case State::kMissing:
      return "missing";
  }
  return "";
}

std::vector<Finding> probe_host(const HostPaths& paths) {
  const Host host(paths);
  std::vector<Finding> findings = kernel_findings(host);
  for (auto more : {namespace_findings(host), cgroup_findings(host),
                    surroundings_findings(host, paths.state_directory),
                    program_findings(host, paths.environment_directory)}) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }
  return findings;
}

std::string render_table(const std::vector<Finding>& findings, bool colours) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.layer.size());
  width += 2;
  std::string table;
  for (const Finding& finding : findings) {
    std::string layer = finding.layer;
    layer.resize(width, ' ');
    std::string state = name_of(finding.state);
    state.resize(kStateWidth, ' ');
    if (colours) state = colour_of(finding.state) + state + "\033[0m";
    const std::string level = finding.level ? name_of(*finding.level) + std::string(": ") : "";
    table += layer + state + level + printable(finding.detail) + "\n";
    if (!finding.remedy.empty()) {
      table += std::string(width + kStateWidth, ' ') + "-> " + printable(finding.remedy) + "\n";
    }
  }
  return table;
}

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& finding : findings) {
    all.push_back({{"layer", finding.layer},
                   {"state", name_of(finding.state)},
                   {"detail", finding.detail},
                   {"remedy", finding.remedy}});
    if (finding.level) all.back()["level"] = name_of(*finding.level);
  }
  return base::print_json(all);
}

}  // namespace sandbox::probe
