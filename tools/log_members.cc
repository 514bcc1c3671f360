#include "tools/log_members.h"

#include <algorithm>

namespace tools {
namespace {

struct OfThread {
  LogMembers::List members;
  int depth = 0;
};

OfThread& of_thread() {
  thread_local OfThread all;
  return all;
}

}  // namespace

LogMembers::LogMembers() : before_(now()) { ++of_thread().depth; }

LogMembers::~LogMembers() {
  --of_thread().depth;
  of_thread().members = std::move(before_);
}

const LogMembers::List& LogMembers::now() { return of_thread().members; }

void LogMembers::set(std::string_view name, std::string value) {
  if (value.empty() || of_thread().depth == 0) return;
  List& members = of_thread().members;
  const auto known = std::find_if(members.begin(), members.end(),
                                  [&](const auto& member) { return member.first == name; });
  if (known != members.end()) {
    known->second = std::move(value);
  } else {
    members.emplace_back(name, std::move(value));
  }
}

}  // namespace tools
