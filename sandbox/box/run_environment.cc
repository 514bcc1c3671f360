#include "sandbox/box/run_environment.h"

#include <unistd.h>

#include <map>

#include "base/text.h"
#include "sandbox/box/network.h"
#include "sandbox/box/plan.h"
#include "sandbox/environment.h"

namespace sandbox::box {
namespace {

constexpr const char* kCertificateVariables[] = {
    "SSL_CERT_FILE",     "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",    "PIP_CERT",           "npm_config_cafile", "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO", "DENO_CERT"};

// Programs look into these variables for what an environment may have at `file`: fontconfig, then
// choreographer (kaleido), karma, lighthouse and puppeteer for a browser.
struct PartOfEnvironment {
  const char* variable;
  const char* file;
};
constexpr const char* kBrowser = "/bin/chromium";
constexpr PartOfEnvironment kPartsOfEnvironment[] = {
    {"FONTCONFIG_FILE", "/share/fonts/fonts.conf"},
    {"BROWSER_PATH", kBrowser},
    {"CHROME_BIN", kBrowser},
    {"CHROME_PATH", kBrowser},
    {"PUPPETEER_EXECUTABLE_PATH", kBrowser},
    // Where these are set to anything, the two fetch no browser of their own.
    {"PUPPETEER_SKIP_DOWNLOAD", kBrowser},
    {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", kBrowser},
    {"PLAYWRIGHT_SKIP_BROWSER_GC", kBrowser},  // its `install` takes that for one that nobody uses
};

using Variables = std::map<std::string, std::string>;

// Returns what every process has, whatever is laid over it.
Variables usual_variables(const BoxSpec& spec, const RunRequest& request) {
  const std::string threads = std::to_string(spec.limits.cpus);
  const std::string place = kEnvironmentPlace;
  const bool has_environment = !spec.environment_directory.empty();
  const std::string packages =
      has_environment ? place + "/bin:" + place + "/node_modules/.bin:" : "";
  return {{"PATH", "/home/user/.local/bin:" + packages + kExplainedPlace + ":" +
                       "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:"
                       "/run/hutch/bin"},
          {"HOME", "/home/user"},
          {"USER", "user"},
          {"LOGNAME", "user"},
          {"SHELL", "/bin/bash"},
          {"LANG", "C.UTF-8"},
          {"TMPDIR", "/tmp"},
          {"TERM", "dumb"},
          {"PWD", start_directory_of(request)},
          {"MPLBACKEND", "Agg"},
          {"BASH_ENV", "/run/hutch/runners/bash/script.sh"},
          // Without this a Python, also one that bash or JavaScript starts, would keep kilobytes
          // back while it goes on, and lose them when it is ended.
          {"PYTHONUNBUFFERED", "1"},
          {"PIP_BREAK_SYSTEM_PACKAGES", "1"},
          {"npm_config_prefix", "/home/user/.local"},
          // As JavaScript's cells have it: what install_packages and `npm install -g` have put
          // there is found wherever a program lies.
          {"NODE_PATH", "/workspace/node_modules:/home/user/.local/lib/node_modules"},
          {"PIP_DISABLE_PIP_VERSION_CHECK", "1"},
          {"npm_config_update_notifier", "false"},
          {"npm_config_yes", "true"},  // nobody is there whom npx could ask
          {"OMP_NUM_THREADS", threads},
          {"OPENBLAS_NUM_THREADS", threads},
          {"MKL_NUM_THREADS", threads},
          {"NUMEXPR_NUM_THREADS", threads},
          {"POLARS_MAX_THREADS", threads},
          // Arrow's heap would take a gigabyte of the process's data at once, and use a part of it.
          {"MIMALLOC_ARENA_EAGER_COMMIT", "0"}};
}

void add_parts_of_environment(const BoxSpec& spec, Variables& all) {
  if (spec.environment_directory.empty()) return;
  for (const auto& [variable, file] : kPartsOfEnvironment) {
    if (::access((spec.environment_directory + file).c_str(), F_OK) != 0) continue;
    all[variable] = std::string(kEnvironmentPlace) + file;
  }
}

void add_network(const BoxSpec& spec, Variables& all) {
  if (spec.network.empty()) {
    // Programs that need a network fail at once, instead of waiting and asking again for minutes.
    all["PIP_RETRIES"] = "0";
    all["npm_config_fetch_retries"] = "0";
  } else {
    // Clients of AWS ask for nothing without a key; the door signs with the one that it has.
    for (const Credential& credential : spec.credentials) {
      if (credential.place != Credential::Place::kSigned) continue;
      all["AWS_ACCESS_KEY_ID"] = all["AWS_SECRET_ACCESS_KEY"] = "added-by-hutch";
    }
    // Programs that bring certificates of their own take the machine's all the same.
    if (!spec.certificate_bundle.empty()) {
      for (const char* name : kCertificateVariables) all[name] = kCertificatesPlace;
    }
    all["HUTCH_NETWORK"] = "1";  // for what runners say of a package that is missing
  }
}

}  // namespace

std::string start_directory_of(const RunRequest& request) {
  return request.context.empty() && !request.directory.empty() ? request.directory : "/workspace";
}

std::vector<std::string> environment_of(const BoxSpec& spec, const Profile& profile, const Job& job,
                                        bool own) {
  Variables all = usual_variables(spec, job.request);
  add_parts_of_environment(spec, all);
  add_network(spec, all);
  for (const auto& [name, value] : profile.environment) all[name] = value;
  for (const auto& [name, value] : spec.env) all[name] = value;
  if (own) {
    std::string names;
    for (const auto& [name, value] : job.request.env) {
      all[name] = value;
      base::append_part(names, name, " ");
    }
    if (profile.process == Profile::Process::kPerRun) all["HUTCH_RUN_ENV"] = names;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : all) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace sandbox::box
