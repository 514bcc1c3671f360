// Build tool: compiles a policy file into a C++ header with seccomp programs.
//
//   compile_policy POLICY.json > filter.h
//
// The first program allows what "entries" allows and answers the policy's default otherwise; the
// second refuses the argument values of "arguments" and what "operations" does not name, the third
// those of "host_folders", the fourth what "door" names. The kernel runs all that are installed and
// takes the strictest answer (seccomp(2)). Only masked comparisons are used: libseccomp 2.5
// compiles others weakly.
#include <seccomp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <linux/filter.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

std::uint32_t errno_action(const std::string& name) {
  if (name == "EPERM") return SCMP_ACT_ERRNO(EPERM);
  if (name == "EINVAL") return SCMP_ACT_ERRNO(EINVAL);
  if (name == "ENOSYS") return SCMP_ACT_ERRNO(ENOSYS);
  if (name == "EAFNOSUPPORT") return SCMP_ACT_ERRNO(EAFNOSUPPORT);
  if (name == "EOPNOTSUPP") return SCMP_ACT_ERRNO(EOPNOTSUPP);
  throw std::runtime_error("unknown errno " + name);
}

std::uint32_t action_of(const json& entry) {
  if (entry.at("action") == "allow") return SCMP_ACT_ALLOW;
  // The call is not made, and its caller is told that it was.
  if (entry.at("action") == "pretend") return SCMP_ACT_ERRNO(0);
  return errno_action(entry.at("errno").get<std::string>());
}

Filter make_filter(std::uint32_t default_action) {
  Filter filter(seccomp_init(default_action), &seccomp_release);
  if (!filter) throw std::runtime_error("seccomp_init");
  if (seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0) {
    throw std::runtime_error("seccomp_attr_set");
  }
  return filter;
}

void add_rule(void* filter, std::uint32_t default_action, const json& entry) {
  const auto name = entry.at("syscall").get<std::string>();
  if (entry.at("why").get<std::string>().empty()) throw std::runtime_error(name + ": no reason");
  const int number = seccomp_syscall_resolve_name(name.c_str());
  // An unresolved name would be a rule that is silently lost.
  if (number == __NR_SCMP_ERROR) throw std::runtime_error("libseccomp does not know " + name);
  if (number < 0) return;  // exists on other architectures only
  const std::uint32_t action = action_of(entry);
  if (action == default_action) return;
  std::vector<scmp_arg_cmp> conditions;
  for (const json& when : entry.value("when", json::array())) {
    conditions.push_back({when.at("argument").get<unsigned>(), SCMP_CMP_MASKED_EQ,
                          when.at("mask").get<std::uint64_t>(),
                          when.at("equals").get<std::uint64_t>()});
  }
  const int result = seccomp_rule_add_array(
      filter, action, number, static_cast<unsigned>(conditions.size()), conditions.data());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  if (result != 0) throw std::runtime_error(name + ": " + std::strerror(-result));
}

struct CloseFile {
  void operator()(FILE* file) const { (void)std::fclose(file); }
};

std::vector<sock_filter> export_program(void* filter) {
  const std::unique_ptr<FILE, CloseFile> file(std::tmpfile());
  if (!file || seccomp_export_bpf(filter, ::fileno(file.get())) != 0) {
    throw std::runtime_error("seccomp_export_bpf");
  }
  std::rewind(file.get());
  std::vector<sock_filter> program;
  sock_filter instruction{};
  while (std::fread(&instruction, sizeof instruction, 1, file.get()) == 1) {
    program.push_back(instruction);
  }
  return program;
}

void print_program(const char* name, const std::vector<sock_filter>& program) {
  std::printf("inline constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& instruction : program) {
    std::printf("    {0x%x, %u, %u, 0x%x},\n", instruction.code, instruction.jt, instruction.jf,
                instruction.k);
  }
  std::printf("};\n");
}

// Allows everything but these.
Filter refuse(const json& entries) {
  Filter filter = make_filter(SCMP_ACT_ALLOW);
  for (const json& entry : entries) add_rule(filter.get(), SCMP_ACT_ALLOW, entry);
  return filter;
}

// An argument is allowed only as one of a few small numbers: refuses all others, as numbers below
// a bound and by each bit that makes a larger one.
void refuse_operations(void* filter, const json& list) {
  constexpr std::uint64_t kBound = 64;          // a power of two
  constexpr std::uint64_t kWhole = 0xffffffff;  // the kernel takes an int
  const auto refuse_when = [&](std::uint64_t mask, std::uint64_t equals) {
    add_rule(filter, SCMP_ACT_ALLOW,
             {{"syscall", list.at("syscall")},
              {"action", "errno"},
              {"errno", list.at("errno")},
              {"why", "not on the list of operations"},
              {"when", {{{"argument", list.at("argument")}, {"mask", mask}, {"equals", equals}}}}});
  };
  std::set<std::uint64_t> allowed;
  for (const json& operation : list.at("allow")) {
    const auto value = operation.at("value").get<std::uint64_t>();
    if (value >= kBound || operation.at("why").get<std::string>().empty()) {
      throw std::runtime_error("operation " + std::to_string(value) + ": too large, or no reason");
    }
    allowed.insert(value);
  }
  for (std::uint64_t value = 0; value < kBound; ++value) {
    if (!allowed.contains(value)) refuse_when(kWhole, value);
  }
  for (std::uint64_t bit = kBound; bit <= kWhole; bit <<= 1U) refuse_when(bit, bit);
}

// Keeps the library from asking the kernel under this, which says nothing of those that the filters
// are for. They have SECCOMP_RET_KILL_PROCESS (Linux 4.14), which is all that it would look for.
void expect_usual_kernel() {
  constexpr unsigned kLevelOfKillProcess = 3;  // seccomp_api_get(3)
  if (seccomp_api_set(kLevelOfKillProcess) != 0) throw std::runtime_error("seccomp_api_set");
}

void compile(const json& policy) {
  expect_usual_kernel();
  const auto default_action = errno_action(policy.at("default").get<std::string>());
  const Filter calls = make_filter(default_action);
  for (const json& entry : policy.at("entries")) add_rule(calls.get(), default_action, entry);
  const Filter arguments = refuse(policy.at("arguments"));
  for (const json& list : policy.at("operations")) refuse_operations(arguments.get(), list);
  const Filter host_folders = refuse(policy.at("host_folders"));
  const Filter door = refuse(policy.at("door"));
  std::printf("// Generated by compile_policy.cc.\n#pragma once\n\n#include <linux/filter.h>\n\n");
  std::printf("namespace sandbox::policy {\n\n");
  print_program("kArgumentFilter", export_program(arguments.get()));
  print_program("kHostFolderFilter", export_program(host_folders.get()));
  print_program("kDoorFilter", export_program(door.get()));
  print_program("kCallFilter", export_program(calls.get()));
  std::printf("\n}  // namespace sandbox::policy\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: compile_policy POLICY.json > filter.h\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    compile(json::parse(file));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "compile_policy: %s: %s\n", argv[1], failure.what());
    return 1;
  }
  return 0;
}
