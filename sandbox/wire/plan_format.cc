#include "sandbox/wire/plan_format.h"

#include <cstring>

namespace sandbox::wire {

int plan_field_count(PlanOp op) {
  switch (op) {
    case PlanOp::kNoHostSockets:
      return 0;
    case PlanOp::kCgroup:
    case PlanOp::kCgroup2:
    case PlanOp::kHostname:
    case PlanOp::kProc:
    case PlanOp::kTerminals:
    case PlanOp::kMask:
    case PlanOp::kReadOnly:
    case PlanOp::kCpus:
      return 1;
    case PlanOp::kDirectory:
    case PlanOp::kShow:
    case PlanOp::kSymlink:
    case PlanOp::kFile:
    case PlanOp::kSysctl:
    case PlanOp::kAccess:
    case PlanOp::kRoute:
      return 2;
    case PlanOp::kRlimit:
    case PlanOp::kListen:
      return 3;
    case PlanOp::kIdMap:
    case PlanOp::kTmpfs:
    case PlanOp::kProtect:
    case PlanOp::kBlock:
      return 4;
    case PlanOp::kBind:
      return 5;
  }
  return -1;
}

bool PlanReader::next(PlanRecord& record) {
  if (!ok_ || next_ == end_) return false;
  ok_ = false;
  if (end_ - next_ < 2) return false;
  record.op = static_cast<PlanOp>(*next_++);
  record.field_count = static_cast<unsigned char>(*next_++);
  if (record.field_count != plan_field_count(record.op)) return false;
  for (int i = 0; i < record.field_count; ++i) {
    const auto left = static_cast<std::size_t>(end_ - next_);
    const void* nul = std::memchr(next_, '\0', left);
    if (nul == nullptr) return false;
    record.fields[i] = next_;
    next_ = static_cast<const char*>(nul) + 1;
  }
  ok_ = true;
  return true;
}

}  // namespace sandbox::wire
