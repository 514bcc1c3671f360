// Measures what a box costs to create, against bubblewrap doing the same mounts, in one run.
//
//   box_creation [--rounds N] [--at-most RATIO]
//
// One round starts a box and then bwrap, so that whatever else the machine does meets both. A box
// counts until it answers on its socket: with cgroup, id maps, seccomp, Landlock and its
// supervisor. bwrap counts until /bin/true has ended in it: it has no cgroup, no seccomp and no
// Landlock. The ratio is that of the medians. With --at-most a larger one is a failure.
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.h"
#include "base/random_id.h"
#include "sandbox/box/plan.h"
#include "sandbox/sandbox.h"
#include "sandbox/session_lock.h"
#include "sandbox/wire/plan_format.h"

namespace {

using namespace sandbox;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kBwrap = "/usr/bin/bwrap";

template <typename T>
T need(base::Result<T> result) {
  if (result.ok()) return std::move(result.value());
  std::fprintf(stderr, "box_creation: %s\n", result.error().message.c_str());
  std::exit(1);
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void make_session(const BoxSpec& spec) {
  for (const char* name : {"workspace", "home", "tmp", "runs"}) {
    const std::string path = spec.session_directory + "/" + name;
    fs::create_directories(path);
    if (!spec.host_uid) continue;
    if (::chown(path.c_str(), *spec.host_uid, *spec.host_uid) != 0) std::perror("chown");
  }
}

// The mounts of the same plan that init carries out.
std::vector<std::string> bwrap_arguments(const std::string& plan) {
  std::vector<std::string> arguments = {kBwrap,          "--unshare-all", "--die-with-parent",
                                        "--new-session", "--hostname",    "hutch"};
  const auto add = [&arguments](std::initializer_list<std::string> more) {
    arguments.insert(arguments.end(), more);
  };
  wire::PlanReader reader(plan.data(), plan.size());
  wire::PlanRecord record;
  while (reader.next(record)) {
    const auto field = [&record](int i) { return std::string(record.fields[i]); };
    switch (record.op) {
      case wire::PlanOp::kDirectory:
        add({"--dir", field(0)});
        break;
      case wire::PlanOp::kBind:
        if (field(1).starts_with("/dev/")) {
          add({"--dev-bind", field(0), field(1)});
        } else {
          add({field(2).find('r') == std::string::npos ? "--bind" : "--ro-bind", field(0),
               field(1)});
        }
        break;
      case wire::PlanOp::kTmpfs:
        add({"--tmpfs", field(0)});
        break;
      case wire::PlanOp::kProc:
        add({"--proc", field(0)});
        break;
      case wire::PlanOp::kMask: {
        struct stat status {};
        if (::stat(record.fields[0], &status) != 0) break;
        if (S_ISDIR(status.st_mode)) {
          add({"--tmpfs", field(0)});
        } else {
          add({"--ro-bind", "/dev/null", field(0)});
        }
        break;
      }
      case wire::PlanOp::kSymlink:
        add({"--symlink", field(0), field(1)});
        break;
      default:
        break;
    }
  }
  add({"--remount-ro", "/", "/bin/true"});
  return arguments;
}

double time_bwrap(const std::vector<std::string>& arguments) {
  const auto start = Clock::now();
  base::SpawnOptions options;
  options.arguments = arguments;
  options.descriptors = {0, 1, 2};
  const pid_t pid = need(base::spawn(options));
  int status = 0;
  (void)::waitpid(pid, &status, 0);
  if (status != 0) {
    std::fprintf(stderr, "box_creation: bwrap failed with status %d\n", status);
    std::exit(1);
  }
  return milliseconds_since(start);
}

double time_box(Sandbox& sandbox, const BoxSpec& spec) {
  const auto start = Clock::now();
  const auto box = [&] {
    const auto lock = need(SessionLock::take(spec.session_directory));
    return need(sandbox.start(spec, lock));
  }();
  const double took = milliseconds_since(start);
  if (const auto ended = box->shutdown("the round is over", sandbox::Box::kShutdownPatience);
      !ended.ok()) {
    std::fprintf(stderr, "box_creation: %s\n", ended.error().message.c_str());
  }
  return took;
}

double at(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void print(const char* name, const std::vector<double>& values) {
  std::printf("%-28s median %6.2f ms   p95 %6.2f ms   %zu rounds\n", name, at(values, 0.5),
              at(values, 0.95), values.size());
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 50;
  double at_most = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--at-most") == 0) at_most = std::atof(argv[i + 1]);
  }
  const std::string programs = need(base::executable_directory());
  std::string top = (fs::temp_directory_path() / "hutch-bench-XXXXXX").string();
  if (::mkdtemp(top.data()) == nullptr) return 1;
  ::chmod(top.c_str(), 0755);
  SandboxConfig config;
  config.sessions_directory = top;
  config.program_directory = programs;
  config.data_directory = programs + "/../share/hutch";
  const auto sandbox = make_sandbox(config);
  std::vector<double> boxes;
  std::vector<double> bwraps;
  for (int round = 0; round < rounds; ++round) {
    BoxSpec spec;
    spec.session_id = base::random_id("session_");
    spec.session_directory = top + "/" + spec.session_id;
    if (::geteuid() == 0) spec.host_uid = 1'999'000'000U + static_cast<unsigned>(round);
    make_session(spec);
    boxes.push_back(time_box(*sandbox, spec));
    spec.data_directory = config.data_directory;
    bwraps.push_back(time_bwrap(bwrap_arguments(need(box::make_plan(spec, {}, {})))));
  }
  fs::remove_all(top);
  print("hutch box, ready to run", boxes);
  print("bwrap --unshare-all, true", bwraps);
  const double ratio = at(boxes, 0.5) / at(bwraps, 0.5);
  std::printf("ratio %.2f\n", ratio);
  if (at_most > 0 && ratio > at_most) {
    std::fprintf(stderr, "box_creation: more than %.2f times bwrap\n", at_most);
    return 1;
  }
  return 0;
}
