#include "tests/security/weak_init/weak_plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "sandbox/init/report.h"
#include "sandbox/wire/plan_format.h"

namespace weak {
namespace {

using sandbox::init::fail;
using sandbox::init::must;
using sandbox::init::Plan;
using sandbox::wire::PlanOp;
using sandbox::wire::PlanReader;
using sandbox::wire::PlanRecord;

constexpr int kStateDepth = 3;  // <state>/sessions/<id>/workspace

char g_layers[1024];  // "\nseccomp\nnet\n": a layer is looked up with its line ends
char g_bytes[sandbox::wire::kPlanBytesMax];
Plan g_plan{nullptr, 0};

void append(const char* bytes, std::size_t size) {
  if (g_plan.size + size > sizeof g_bytes) fail("edit the plan", "size");
  std::memcpy(g_bytes + g_plan.size, bytes, size);
  g_plan.size += size;
}

void append_record(const PlanRecord& record) {
  const char head[] = {static_cast<char>(record.op), static_cast<char>(record.field_count)};
  append(head, sizeof head);
  for (int i = 0; i < record.field_count; ++i) {
    append(record.fields[i], std::strlen(record.fields[i]) + 1);
  }
}

void append_bind(const char* path) {
  PlanRecord record;
  record.op = PlanOp::kBind;
  record.field_count = 5;
  const char* const fields[] = {path, path, "", "0", "0"};
  for (std::size_t i = 0; i < std::size(fields); ++i) record.fields[i] = fields[i];
  append_record(record);
}

// The field that says where in the box a record makes something; nullptr for other records.
const char* target_of(const PlanRecord& record) {
  switch (record.op) {
    case PlanOp::kBind:
    case PlanOp::kSymlink:
      return record.fields[1];
    case PlanOp::kDirectory:
    case PlanOp::kTmpfs:
    case PlanOp::kProc:
    case PlanOp::kTerminals:
    case PlanOp::kFile:
      return record.fields[0];
    default:
      return nullptr;
  }
}

bool is_below(const char* path, const char* top) {
  const std::size_t size = std::strlen(top);
  return path != nullptr && std::strncmp(path, top, size) == 0 &&
         (path[size] == '\0' || path[size] == '/');
}

// The host's own directory in place of what the plan puts together at `top`.
bool replaced_by_host(const PlanRecord& record, const char* layer, const char* top) {
  if (!is_off(layer) || !is_below(target_of(record), top)) return false;
  if (std::strcmp(target_of(record), top) == 0) append_bind(top);
  return true;
}

bool dropped(const PlanRecord& record) {
  switch (record.op) {
    case PlanOp::kMask:
    case PlanOp::kShow:
      return is_off("masks");
    case PlanOp::kReadOnly:
      // The host's own /proc/sys may have mounts below it, which cannot be left out of a copy.
      return is_off("read_only") ||
             (is_off("proc") && std::strcmp(record.fields[0], "/proc/sys") == 0);
    case PlanOp::kRlimit:
      return is_off("rlimits");
    case PlanOp::kCpus:
      return is_off("cpus");
    case PlanOp::kCgroup:
    case PlanOp::kCgroup2:
      return is_off("cgroups");
    default:
      return false;
  }
}

void without_letters(const char* from, char* to, const char* letters) {
  for (; *from != '\0'; ++from) {
    if (std::strchr(letters, *from) == nullptr) *to++ = *from;
  }
  *to = '\0';
}

void edit(PlanRecord& record) {
  static char options[16];
  if (record.op == PlanOp::kBind) {
    char letters[3] = "";
    if (is_off("read_only_binds")) std::strcat(letters, "r");
    if (is_off("noexec")) std::strcat(letters, "x");
    without_letters(record.fields[2], options, letters);
    record.fields[2] = options;
  }
  // 0 is no limit.
  if (record.op == PlanOp::kTmpfs && is_off("tmpfs_sizes")) {
    record.fields[1] = record.fields[2] = "0";
  }
}

}  // namespace

bool is_off(const char* layer) {
  char line[64];
  (void)std::snprintf(line, sizeof line, "\n%s\n", layer);
  return std::strstr(g_layers, line) != nullptr;
}

void read_layers(const Plan& plan) {
  char path[1024] = "";
  PlanReader reader(plan.bytes, plan.size);
  PlanRecord record;
  while (reader.next(record)) {
    if (record.op != PlanOp::kBind || std::strcmp(record.fields[1], "/workspace") != 0) continue;
    (void)std::snprintf(path, sizeof path - sizeof "/without", "%s", record.fields[0]);
  }
  for (int i = 0; i < kStateDepth; ++i) {
    if (char* slash = std::strrchr(path, '/'); slash != nullptr) *slash = '\0';
  }
  std::strcat(path, "/without");
  // A weak init without this file is a mistake of the test, not a box with all layers.
  const int fd = must(::open(path, O_RDONLY | O_CLOEXEC), "open", path);
  g_layers[0] = '\n';
  must(static_cast<int>(::read(fd, g_layers + 1, sizeof g_layers - 2)), "read", path);
  must(::close(fd), "close", path);
}

const Plan& edited(const Plan& plan) {
  if (g_plan.bytes != nullptr) return g_plan;
  g_plan.bytes = g_bytes;
  PlanReader reader(plan.bytes, plan.size);
  PlanRecord record;
  while (reader.next(record)) {
    if (dropped(record) || replaced_by_host(record, "etc", "/etc") ||
        replaced_by_host(record, "dev", "/dev") || replaced_by_host(record, "proc", "/proc")) {
      continue;
    }
    edit(record);
    append_record(record);
  }
  return g_plan;
}

}  // namespace weak
