#include "tools/cli/package_indexes.h"

#include <unistd.h>

#include <chrono>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tools/cli/application.h"
#include "tools/cli/program_output.h"

namespace tools::cli {

using base::Error;
using nlohmann::json;

namespace {

constexpr const char* kPython = "/usr/bin/python3";
constexpr std::size_t kIndexesBytesMax = std::size_t{4} << 20;
constexpr std::chrono::seconds kIndexesPatience{15};

base::Result<PackageIndexes::Manager> manager_in(const json& said) {
  PackageIndexes::Manager manager;
  for (const json& host : said.value("hosts", json::array())) {
    manager.hosts.push_back(TRY(sandbox::parse_network_rule(host.get<std::string>())));
  }
  const json variables = said.value("variables", json::object());
  for (const auto& [name, value] : variables.items()) {
    manager.variables[name] = value.get<std::string>();
  }
  return manager;
}

base::Result<PackageIndexes> indexes_in(const json& said) {
  PackageIndexes indexes;
  indexes.pip = TRY(manager_in(said.value("pip", json::object())));
  indexes.npm = TRY(manager_in(said.value("npm", json::object())));
  for (const json& login : said.value("logins", json::array())) {
    auto& kept = indexes.logins.emplace_back();
    kept.credential.name = base::string_or(login, "name");
    kept.credential.host = TRY(sandbox::parse_network_rule(base::string_or(login, "host")));
    TRY(sandbox::take_place(base::string_or(login, "place"), kept.credential));
    kept.value = base::string_or(login, "value");
  }
  indexes.certificates = base::string_or(said, "certificates");
  return indexes;
}

}  // namespace

base::Result<PackageIndexes> package_indexes(const Settings& settings) {
  // A machine without Python has no pip either.
  if (::access(kPython, X_OK) != 0) return PackageIndexes();
  base::SpawnOptions options;
  const std::string program = TRY(sandbox_config(settings)).data_directory;
  options.arguments = {kPython, "-I", "-B", program + "/environments/indexes.py"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.emplace_back(*variable);
  }
  const auto printed = output_of(std::move(options), kIndexesBytesMax, kIndexesPatience);
  if (!printed.ok()) {
    return base::error(printed.error().kind,
                       "the program that reads the configuration of pip "
                       "and npm " +
                           printed.error().message);
  }
  auto indexes = indexes_in(TRY(base::parse_json(printed.value())));
  if (!indexes.ok()) return std::move(indexes).error().context("the configuration of pip or npm");
  return indexes;
}

}  // namespace tools::cli
