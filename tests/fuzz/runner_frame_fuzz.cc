// Reads what a hostile interpreter can put into the record of a run.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "sandbox/box/ending.h"
#include "sandbox/box/job_outputs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto message = base::parse_json({reinterpret_cast<const char*>(data), size});
  if (!message.ok()) return 0;
  sandbox::box::Job job;
  job.run.run_id = "run_00000000000000000000000000000000";
  // Without a directory no file can be kept; what goes into the record can.
  (void)sandbox::box::add_part(job, message.value(), "part");
  (void)sandbox::box::add_output(job, message.value(), "");
  if (message.value().is_object()) {
    sandbox::box::end_by_message(job.run, message.value(), {});
    if (!sandbox::is_terminal(job.run.status)) std::abort();
  }
  const auto printed = base::print_json(sandbox::run_to_json(job.run));
  const auto again = base::parse_json(printed);
  if (message.value().is_object() && again.ok() && !sandbox::run_from_json(again.value()).ok()) {
    std::abort();
  }
  return 0;
}
