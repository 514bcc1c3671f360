// The programs that sessions run, which are the host's own, and those that people have beside them:
// what is first in their PATH is often not what a session gets.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "sandbox/probe/host.h"

namespace sandbox::probe {

namespace {

constexpr const char* kPython = "/usr/bin/python3";
constexpr std::size_t kNamedMax = 3;

// Returns whether boxes have this path of the host: they have /usr, and what belongs to it where
// that is not merged.
bool is_in_boxes(const std::string& path) {
  return path.starts_with("/usr/") || path.starts_with("/bin/") || path.starts_with("/sbin/") ||
         path.starts_with("/lib");
}

// Programs of that name in the caller's PATH other than the one that sessions use, the first ones.
std::vector<std::string> others_in_path(const Host& host, const std::string& used) {
  const std::string name = used.substr(used.rfind('/'));
  std::vector<std::string> known = {host.real(used)};
  std::vector<std::string> others;
  for (const std::string& directory : base::words_of(host.search_path(), ':')) {
    if (!directory.starts_with('/') || others.size() == kNamedMax) continue;
    const std::string real = host.real(directory + name);
    if (real.empty() || base::contains(known, real)) continue;
    known.push_back(real);
    others.push_back(directory + name);
  }
  return others;
}

// Why the others are not used; empty without any.
std::string words_about_others(const Host& host, const std::string& used) {
  std::vector<std::string> hidden;
  std::vector<std::string> seen;
  for (const std::string& other : others_in_path(host, used)) {
    (is_in_boxes(host.real(other)) ? seen : hidden).push_back(other);
  }
  std::string words;
  if (!hidden.empty()) {
    words += "; not " + base::join(hidden) + ": outside of /usr, which is all that sessions see";
  }
  if (!seen.empty()) words += "; " + base::join(seen) + " only where code starts it by name";
  return words;
}

Finding program(const Host& host, const char* language, const char* path, const char* package) {
  const std::string install = std::string("apt install ") + package;
  const std::string others = words_about_others(host, path);
  const std::string real = host.real(path);
  if (real.empty()) {
    return {language, State::kWeaker,
            std::string("no ") + path + ": sessions cannot run it" + others, install};
  }
  if (!is_in_boxes(real)) {
    return {
        language, State::kWeaker,
        path + (" leads to " + real) + ", outside of /usr, which is all that sessions see" + others,
        install};
  }
  return {language, State::kGood, path + others, ""};
}

// Returns `packages` in each directory below `parent` whose name begins with python3.
std::vector<std::string> python_directories(const Host& host, const std::string& parent,
                                            const std::string& packages) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(host.at(parent), ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("python3")) found.push_back(parent + "/" + name + packages);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Where the box's Python looks for packages; the user's own are in the session.
std::vector<std::string> package_directories(const Host& host) {
  std::vector<std::string> directories = {"/usr/lib/python3/dist-packages"};
  const std::string real = host.real(kPython);
  const std::string version = real.substr(real.rfind('/') + 1);
  for (const std::string& one : python_directories(host, "/usr/local/lib", "/dist-packages")) {
    const bool other =
        version.starts_with("python3.") && !one.starts_with("/usr/local/lib/" + version + "/");
    if (!other) directories.push_back(one);
  }
  return directories;
}

// Where the caller may have installed packages for themselves, or for another Python.
std::vector<std::string> other_package_directories(const Host& host) {
  auto directories = python_directories(host, "/usr/local/lib", "/dist-packages");
  std::vector<std::string> prefixes = {"/usr/local"};
  if (!host.home().empty()) prefixes.push_back(host.home() + "/.local");
  for (const std::string& python : others_in_path(host, kPython)) {
    prefixes.push_back(python.substr(0, python.rfind("/bin/")));
  }
  for (const std::string& prefix : prefixes) {
    for (std::string& one : python_directories(host, prefix + "/lib", "/site-packages")) {
      directories.push_back(std::move(one));
    }
  }
  return directories;
}

std::string seen_elsewhere(const Host& host, const std::vector<std::string>& names) {
  std::vector<std::string> seen;
  for (const std::string& directory : other_package_directories(host)) {
    for (const std::string& name : names) {
      const std::string path = directory + "/" + name;
      if (seen.size() < kNamedMax && host.has(path) && !base::contains(seen, path)) {
        seen.push_back(path);
      }
    }
  }
  if (seen.empty()) return "";
  return "; not used: " + base::join(seen) +
         ": of another Python, or in a home, and sessions have their own";
}

bool has_package(const Host& host, const std::string& name) {
  const auto directories = package_directories(host);
  return std::any_of(directories.begin(), directories.end(),
                     [&](const auto& directory) { return host.has(directory + "/" + name); });
}

Finding with_packages(Finding finding) {
  finding.has_packages = true;
  return finding;
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
  if (missing.empty()) return with_packages({layer, State::kGood, base::join(there, " "), ""});
  return {layer, State::kWeaker,
          "missing: " + base::join(missing, " ") +
              (there.empty() ? "" : "; there: " + base::join(there, " ")) +
              seen_elsewhere(host, missing),
          "hutch environments build, which brings these and a hundred more; or apt install " +
              base::join(install, " ")};
}

Finding notebook(const Host& host) {
  if (has_package(host, "IPython")) {
    return with_packages({"IPython", State::kGood, "magics and !commands", ""});
  }
  return {"IPython", State::kWeaker, "not there: cells are Python without magics and !commands",
          "apt install ipython3"};
}

Finding kept_functions(const Host& host) {
  const char* layer = "kept functions";
  if (has_package(host, "cloudpickle")) {
    return with_packages(
        {layer, State::kGood, "cloudpickle: functions and classes of cells outlive Python", ""});
  }
  return {layer, State::kWeaker,
          "no cloudpickle: functions and classes of cells are lost with the Python that ran them",
          "apt install python3-cloudpickle"};
}

// Nothing is weaker with SQLite, but for files that it cannot read.
Finding sql_engine(const Host& host) {
  if (has_package(host, "duckdb")) {
    return with_packages({"SQL engine", State::kGood, "DuckDB", ""});
  }
  return {"SQL engine", State::kGood,
          "SQLite; DuckDB, and Parquet files, where Python has duckdb, as that of `hutch "
          "environments build`" +
              seen_elsewhere(host, {"duckdb"}),
          ""};
}

Finding typescript(const Host& host) {
  if (host.has("/usr/bin/esbuild")) return {"TypeScript", State::kGood, "/usr/bin/esbuild", ""};
  return {"TypeScript", State::kWeaker,
          "no /usr/bin/esbuild: a node before 22.13 cannot take types away by itself",
          "apt install esbuild"};
}

}  // namespace

std::vector<Finding> program_findings(const Host& host, const std::string& environment_directory) {
  std::vector<Finding> findings = {program(host, "Python, SQL", kPython, "python3")};
  if (environment_directory.empty()) {
    findings.insert(findings.end(),
                    {packages(host), notebook(host), kept_functions(host), sql_engine(host)});
  } else {
    findings.push_back({"Python packages", State::kGood, "of " + environment_directory, ""});
  }
  findings.insert(findings.end(), {program(host, "JavaScript", "/usr/bin/node", "nodejs"),
                                   typescript(host), program(host, "bash", "/bin/bash", "bash")});
  return findings;
}

}  // namespace sandbox::probe
