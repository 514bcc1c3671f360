// The programs that sessions run: by default the host's own.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

Finding program(const Host& host, const char* language, const char* path, const char* package) {
  if (host.has(path)) return {language, State::kGood, path, ""};
  return {language, State::kWeaker, std::string("no ") + path + ": sessions cannot run it",
          std::string("apt install ") + package};
}

// Where the box's Python looks for packages; the user's own are in the session.
std::vector<std::string> package_directories(const Host& host) {
  std::vector<std::string> directories = {"/usr/lib/python3/dist-packages"};
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(host.at("/usr/local/lib"), ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("python3")) {
      directories.push_back("/usr/local/lib/" + name + "/dist-packages");
    }
  }
  return directories;
}

bool has_package(const Host& host, const std::string& name) {
  const auto directories = package_directories(host);
  return std::any_of(directories.begin(), directories.end(),
                     [&](const auto& directory) { return host.has(directory + "/" + name); });
}

Finding packages(const Host& host) {
  struct Package {
    const char* directory;
    const char* debian;
  };
  constexpr Package kPackages[] = {{"numpy", "python3-numpy"},
                                   {"pandas", "python3-pandas"},
                                   {"matplotlib", "python3-matplotlib"}};
  std::vector<std::string> there;
  std::vector<std::string> missing;
  std::vector<std::string> install;
  for (const Package& package : kPackages) {
    if (has_package(host, package.directory)) {
      there.emplace_back(package.directory);
    } else {
      missing.emplace_back(package.directory);
      install.emplace_back(package.debian);
    }
  }
  const char* layer = "Python packages";
  if (missing.empty()) return {layer, State::kGood, join(there), ""};
  return {layer, State::kWeaker,
          "missing: " + join(missing) + (there.empty() ? "" : "; there: " + join(there)),
          "apt install " + join(install)};
}

Finding notebook(const Host& host) {
  if (has_package(host, "IPython")) return {"IPython", State::kGood, "magics and !commands", ""};
  return {"IPython", State::kWeaker, "not there: cells are Python without magics and !commands",
          "apt install ipython3"};
}

// Nothing is weaker with SQLite, but for files that it cannot read.
Finding sql_engine(const Host& host) {
  if (has_package(host, "duckdb")) return {"SQL engine", State::kGood, "DuckDB", ""};
  return {"SQL engine", State::kGood, "SQLite; DuckDB, and Parquet files, where Python has duckdb",
          ""};
}

Finding typescript(const Host& host) {
  if (host.has("/usr/bin/esbuild")) return {"TypeScript", State::kGood, "/usr/bin/esbuild", ""};
  return {"TypeScript", State::kWeaker,
          "no /usr/bin/esbuild: a node before 22.13 cannot take types away by itself",
          "apt install esbuild"};
}

}  // namespace

std::vector<Finding> program_findings(const Host& host) {
  return {program(host, "Python, SQL", "/usr/bin/python3", "python3"),
          packages(host),
          notebook(host),
          sql_engine(host),
          program(host, "JavaScript", "/usr/bin/node", "nodejs"),
          typescript(host),
          program(host, "bash", "/bin/bash", "bash")};
}

}  // namespace sandbox::probe
