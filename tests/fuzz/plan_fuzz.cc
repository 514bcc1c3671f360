// The plan reader of hutch-init.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sandbox/wire/plan_format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* begin = reinterpret_cast<const char*>(data);
  sandbox::wire::PlanReader reader(begin, size);
  sandbox::wire::PlanRecord record;
  while (reader.next(record)) {
    for (int i = 0; i < record.field_count; ++i) {
      if (record.fields[i] < begin || record.fields[i] >= begin + size) std::abort();
    }
  }
  return 0;
}
