#include "tools/cli/doctor_proof.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "sandbox/enforcement.h"
#include "sessions/run_files.h"
#include "sessions/run_state.h"
#include "sessions/runs.h"
#include "sessions/session.h"
#include "sessions/session_options.h"
#include "sessions/sessions.h"
#include "tools/cli/application.h"

namespace tools::cli {

using sandbox::Language;
using sandbox::probe::Finding;
using State = Finding::State;

namespace {

constexpr std::int64_t kRunSeconds = 60;
constexpr std::size_t kSaidBytesMax = 4096;
constexpr std::size_t kReasonBytesMax = 200;

constexpr const char* kWalls =
    "set -e; test $(id -u) = 1000; test ! -e /sys/kernel; test ! -e /etc/shadow; "
    "grep -q 'Seccomp:.2' /proc/self/status; grep -q 'NoNewPrivs:.1' /proc/self/status; "
    "grep -q 'CapBnd:.0000000000000000' /proc/self/status; "
    "test $(tail -n +3 /proc/net/dev | wc -l) = 1; echo held";

constexpr const char* kAllowedName = "allowed.invalid";
constexpr const char* kNames =
    "getent hosts allowed.invalid | grep -q '^198\\.1[89]\\.' && ! getent hosts refused.invalid && "
    "echo opens";

// A package that is there may still be for another Python, or lack another package.
constexpr const char* kPackages = R"python(
import importlib, importlib.util, platform
print(platform.python_version())
for name, module in (("numpy", "numpy"), ("pandas", "pandas"), ("matplotlib", "matplotlib.pyplot"),
                     ("duckdb", "duckdb"), ("IPython", "IPython"), ("cloudpickle", "cloudpickle")):
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None: continue  # a directory of that name, left by others
    try:
        importlib.import_module(module)
        print(name, "works", importlib.import_module(name).__version__)
    except BaseException as error:
        print(name, "fails", " ".join(f"{type(error).__name__}: {error}".split()))
)python";

struct Trying {
  Language language;
  const char* code;
};

constexpr Trying kTrials[] = {
    {Language::kBash, kWalls},
    {Language::kPython, kPackages},
    {Language::kSql, "SELECT 1 AS one"},
    {Language::kJavaScript, "console.log(process.versions.node)"},
    {Language::kTypeScript, "const version: string = process.versions.node\nconsole.log(version)"},
};

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kReasonBytesMax ? line : line.substr(0, kReasonBytesMax) + "...";
}

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return first_line(text.substr(text.rfind('\n') + 1));
}

class Prover {
 public:
  Prover(Application& app, const sessions::Session& session) : app_(app), session_(session) {}

  base::Result<BoxProof> prove() {
    BoxProof proof;
    proof.isolation = session_.isolation.value_or(sandbox::Isolation());
    std::vector<base::Result<sessions::RunState>> started;
    for (const Trying& one : kTrials) started.push_back(start(one));
    for (std::size_t i = 0; i < started.size(); ++i) {
      std::string output;
      const std::string language = name_of(kTrials[i].language);
      proof.languages[language] = end_of(started[i], output);
      if (kTrials[i].language == Language::kBash) proof.holds = output == "held\n";
      if (kTrials[i].language == Language::kPython) proof.packages = packages_in(output);
    }
    return proof;
  }

  BoxProof::Trial try_one(const Trying& one) {
    std::string output;
    return end_of(start(one), output);
  }

 private:
  base::Result<sessions::RunState> start(const Trying& one) {
    sandbox::RunRequest request;
    request.language = one.language;
    request.timeout_seconds = kRunSeconds;
    request.code = one.code;
    return app_.services().runs.start(session_, std::move(request));
  }

  BoxProof::Trial end_of(const base::Result<sessions::RunState>& started, std::string& output) {
    if (!started.ok()) return {false, started.error().message};
    const std::string& id = started.value().run.run_id;
    sandbox::WaitOptions options;
    options.timeout = std::chrono::seconds(kRunSeconds + 10);
    const auto ended = app_.services().runs.wait(app_.principal_id(), id, options, {});
    if (!ended.ok()) return {false, ended.error().message};
    const sandbox::Run& run = ended.value().run;
    output = stream(id, "stdout");
    if (run.status == sandbox::RunStatus::kCompleted) return {true, first_line(output)};
    // An interpreter that cannot start says more by its own words than that it could not.
    const std::string complaint = last_line(stream(id, "stderr"));
    std::string why = run.error ? first_line(run.error->message) : name_of(run.status);
    if (!complaint.empty() && why.find(complaint) == std::string::npos) why += ": " + complaint;
    return {false, why};
  }

  std::string stream(const std::string& run_id, const char* name) {
    auto text = app_.services().run_files.read(session_.id, run_id, name, 0, kSaidBytesMax);
    return text.ok() ? std::move(text).value() : "";  // a run that never started has none
  }

  static std::map<std::string, BoxProof::Trial> packages_in(const std::string& output) {
    std::map<std::string, BoxProof::Trial> packages;
    std::istringstream lines(output);
    std::string line;
    std::getline(lines, line);  // the version of Python
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string name;
      std::string verdict;
      words >> name >> verdict >> std::ws;
      std::string said;
      std::getline(words, said);
      packages[name] = {verdict == "works", first_line(said)};
    }
    return packages;
  }

  Application& app_;
  const sessions::Session& session_;
};

BoxProof::Trial try_network(Application& app) {
  sessions::SessionOptions wanted;
  wanted.network.allow = {"allowed.invalid"};
  auto created = app.services().sessions.create(app.principal_id(), wanted);
  if (!created.ok()) return {false, created.error().message};
  const sessions::Session session = std::move(created).value().session;
  BoxProof::Trial trial = Prover(app, session).try_one({Language::kBash, kNames});
  if (trial.works && trial.said != "opens") trial = {false, "names are not answered as allowed"};
  (void)app.services().sessions.destroy(app.principal_id(), session.id);
  return trial;
}

std::string remedy_for(const sandbox::Enforced& limit) {
  if (limit.level == sandbox::Level::kHard) return "";
  const std::string name = limit.limit;
  if (name == "disk_mb" || name == "files") {
    return std::string(::geteuid() == 0 ? "have" : "run hutch as root and have") +
           " the state directory on ext4 or XFS mounted with prjquota";
  }
  return "as for cgroups above";
}

Finding* find(std::vector<Finding>& findings, const std::string& layer) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& one) { return one.layer == layer; });
  return found == findings.end() ? nullptr : &*found;
}

// The finding is about one language or several; which of them is named when there are several.
void correct_language(std::vector<Finding>& findings, const std::string& layer,
                      const std::vector<std::string>& names, const BoxProof& proof) {
  Finding* finding = find(findings, layer);
  if (finding == nullptr) return;
  std::string failed;
  for (const std::string& name : names) {
    const auto tried = proof.languages.find(name);
    if (tried == proof.languages.end() || tried->second.works) continue;
    failed += "; a box cannot run " + name + ": " + tried->second.said;
  }
  if (!failed.empty()) {
    // A finding that was not good at the first look says why already.
    if (finding->state == State::kGood) {
      finding->remedy = "use versions as new as Debian 12's at least: Python 3.11, node 18";
      finding->detail += failed;
    }
    finding->state = State::kWeaker;
    return;
  }
  const std::string& version = proof.languages.at(names.front()).said;
  // The others say what they were told to.
  const bool has_version = layer == "JavaScript" || names.front() == "python";
  *finding = {layer, State::kGood,
              finding->state == State::kGood
                  ? (has_version ? version + ", " : "") + finding->detail
                  : "a box runs it" + (has_version ? ": " + version : ""),
              ""};
}

// Where looking has found them all, what the box does not find is of no use.
void correct_packages(Finding* finding, const std::vector<std::string>& names,
                      const BoxProof& proof) {
  if (finding == nullptr) return;
  std::string broken;
  for (const std::string& name : names) {
    const auto tried = proof.packages.find(name);
    const bool found = tried != proof.packages.end();
    if (found && tried->second.works) continue;
    if (!found && !finding->has_packages) continue;
    base::append_part(
        broken,
        name + " (" + (found ? tried->second.said : "not found by the Python of boxes") + ")");
  }
  if (broken.empty()) return;
  finding->state = State::kWeaker;
  finding->detail += "; there, but of no use: " + broken;
  if (finding->remedy.empty()) finding->remedy = "install them anew, with what they need";
}

}  // namespace

base::Result<BoxProof> prove_in_a_box(const Settings& settings) {
  Settings granting = settings;
  granting.mounts.clear();
  granting.credentials.clear();
  granting.allow = {kAllowedName};
  granting.mounting = Settings::Mounting::kAsked;
  const auto app = TRY(Application::open(granting));
  const auto session = TRY(app->services().sessions.create(app->principal_id(), {})).session;
  auto proof = Prover(*app, session).prove();
  TRY(app->services().sessions.destroy(app->principal_id(), session.id));
  if (proof.ok()) proof.value().network = try_network(*app);
  return proof;
}

std::vector<Finding> limit_findings(const sandbox::Isolation& isolation) {
  std::vector<Finding> findings;
  for (const sandbox::Enforced& limit : sandbox::enforcement_of(isolation)) {
    const bool hard = limit.level == sandbox::Level::kHard;
    std::string how = limit.holder;
    if (how.empty()) how = "nobody says who holds it";
    if (limit.level == sandbox::Level::kWatched) {
      how = "measured while something runs, ended when it is seen beyond";
      if (limit.holder == sandbox::kWatchAndRlimit.words) how += "; and an rlimit per process";
    }
    findings.push_back(
        {limit.limit, hard ? State::kGood : State::kWeaker, how, remedy_for(limit), limit.level});
  }
  const std::string& pause = isolation.pause;
  const bool frozen = pause == sandbox::kCgroup1.words || pause == sandbox::kCgroup2.words;
  findings.push_back({"pause", frozen ? State::kGood : State::kWeaker,
                      frozen ? pause : "no freezer: SIGSTOP to every process",
                      frozen ? "" : "as for cgroups above"});
  return findings;
}

void correct(std::vector<Finding>& findings, const BoxProof& proof) {
  correct_language(findings, "Python, SQL", {"python", "sql"}, proof);
  correct_language(findings, "JavaScript", {"javascript"}, proof);
  correct_language(findings, "TypeScript", {"typescript"}, proof);
  correct_language(findings, "bash", {"bash"}, proof);
  if (proof.languages.at("python").works) {
    correct_packages(find(findings, "Python packages"), {"numpy", "pandas", "matplotlib"}, proof);
    correct_packages(find(findings, "IPython"), {"IPython"}, proof);
    correct_packages(find(findings, "kept functions"), {"cloudpickle"}, proof);
    correct_packages(find(findings, "SQL engine"), {"duckdb"}, proof);
  }
  // It was expected that no session could start, and one did.
  for (Finding& finding : findings) {
    if (finding.state != State::kMissing) continue;
    finding.state = State::kWeaker;
    finding.detail += "; a box started in spite of it";
  }
}

}  // namespace tools::cli
