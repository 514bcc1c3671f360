#include "sandbox/left_running.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace sandbox {

namespace {

using nlohmann::json;

constexpr std::size_t kCommandBytesMax = 400;  // whoever tells of one cuts it shorter

std::string numbers_of(const std::vector<pid_t>& pids) {
  std::string numbers;
  for (const pid_t pid : pids) base::append_part(numbers, std::to_string(pid), " ");
  return numbers;
}

std::vector<pid_t> pids_from_json(const json& value) {
  std::vector<pid_t> pids;
  if (!value.is_array()) return pids;
  for (const json& number : value) {
    if (!number.is_number_integer() || pids.size() == LeftRunning::kPidsMax) continue;
    const auto pid = number.get<std::int64_t>();
    if (pid > 0 && pid <= std::numeric_limits<pid_t>::max()) {
      pids.push_back(static_cast<pid_t>(pid));
    }
  }
  return pids;
}

std::string way_to_end(const LeftRunning& left) {
  if (left.has_objects) return "; kill PID (or the object's terminate()) ends it";
  const bool has_many_pids =
      std::any_of(left.processes.begin(), left.processes.end(),
                  [](const LeftRunning::Process& process) { return process.pids.size() > 1; });
  const std::string kill = has_many_pids ? "; kill with all its PIDs ends " : "; kill PID ends ";
  if (left.more == 0) return kill + "it";
  return kill + "one, kill -9 -1 in bash all, interpreters with their variables too";
}

}  // namespace

json left_running_to_json(const LeftRunning& left) {
  json processes = json::array();
  for (const auto& [pids, command] : left.processes) {
    processes.push_back({{"pids", pids}, {"command", command}});
  }
  json value = {{"processes", std::move(processes)}};
  if (left.more > 0) value["more"] = left.more;
  if (left.of_earlier_run) value["of_earlier_run"] = true;
  if (left.has_objects) value["has_objects"] = true;
  if (left.may_print) value["may_print"] = true;
  return value;
}

LeftRunning left_running_from_json(const json& value) {
  LeftRunning left;
  if (!value.is_object()) return left;
  const json processes = value.value("processes", json());
  if (!processes.is_array()) return left;
  for (const json& entry : processes) {
    if (!entry.is_object() || left.processes.size() == LeftRunning::kProcessesMax) continue;
    auto pids = pids_from_json(entry.value("pids", json()));
    auto command = base::string_or(entry, "command");
    if (pids.empty() || command.size() > kCommandBytesMax) continue;
    left.processes.push_back({std::move(pids), std::move(command)});
  }
  left.more = std::max<std::int64_t>(base::integer_or(value, "more", 0), 0);
  left.of_earlier_run = base::boolean_or(value, "of_earlier_run", false);
  left.has_objects = base::boolean_or(value, "has_objects", false);
  left.may_print = base::boolean_or(value, "may_print", false);
  return left;
}

std::string in_words(const LeftRunning& left) {
  if (left.empty()) return "";
  std::string told;
  for (const auto& [pids, command] : left.processes) {
    base::append_part(
        told, command + (pids.size() > 1 ? " (pids " : " (pid ") + numbers_of(pids) + ")", ", ");
  }
  if (left.more > 0) {
    base::append_part(told, (told.empty() ? "" : "and ") + std::to_string(left.more) + " more",
                      ", ");
  }
  return (left.of_earlier_run ? "left running by an earlier run: " : "left running by this run: ") +
         told + way_to_end(left) +
         (left.may_print ? "; get_run of this run has what it prints later" : "");
}

void leave_out_ended(LeftRunning& left, const std::function<bool(pid_t)>& lives) {
  std::vector<LeftRunning::Process> living;
  for (const LeftRunning::Process& process : left.processes) {
    if (std::any_of(process.pids.begin(), process.pids.end(), lives)) living.push_back(process);
  }
  // Nothing is known of those that are only counted.
  if (living.empty() && left.more > 0) return;
  left.processes = std::move(living);
}

}  // namespace sandbox
