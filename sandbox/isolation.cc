#include "sandbox/isolation.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/box_spec.h"

namespace sandbox {

using base::Error;
using nlohmann::json;

namespace {

struct Layer {
  const char* name;
  std::string Isolation::*words;
};

constexpr Layer kLayers[] = {{"ids", &Isolation::ids},
                             {"seccomp", &Isolation::seccomp},
                             {"landlock", &Isolation::landlock},
                             {"memory", &Isolation::memory},
                             {"processes", &Isolation::processes},
                             {"cpus", &Isolation::cpus},
                             {"pause", &Isolation::pause},
                             {"disk", &Isolation::disk},
                             {"python", &Isolation::python}};

}  // namespace

json layers_to_json(const Isolation& isolation) {
  json value = json::object();
  if (!isolation.namespaces.empty()) value["namespaces"] = isolation.namespaces;
  for (const Layer& layer : kLayers) {
    const std::string& words = isolation.*layer.words;
    if (!words.empty()) value[layer.name] = words;
  }
  return value;
}

json isolation_to_json(const Isolation& isolation) {
  json value = layers_to_json(isolation);
  value["host_folders"] = folders_to_json(isolation.host_folders);
  value["network"] = rules_to_json(isolation.network);
  value["credentials"] = credentials_to_json(isolation.credentials);
  return value;
}

base::Result<Isolation> isolation_from_json(const json& value) {
  if (!value.is_object()) return base::error(Error::Kind::kInvalid, "isolation is no object");
  Isolation isolation;
  for (const json& name : value.value("namespaces", json::array())) {
    if (name.is_string()) isolation.namespaces.push_back(name.get<std::string>());
  }
  for (const Layer& layer : kLayers) isolation.*layer.words = base::string_or(value, layer.name);
  isolation.host_folders = TRY(folders_from_json(value.value("host_folders", json::array())));
  isolation.network = TRY(rules_from_json(value.value("network", json::array())));
  isolation.credentials = TRY(credentials_from_json(value.value("credentials", json::array())));
  return isolation;
}

}  // namespace sandbox
