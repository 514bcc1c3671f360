// Appends records to a plan. The format is in sandbox/wire/plan_format.h.
#pragma once

#include <initializer_list>
#include <string>

#include "sandbox/wire/plan_format.h"

namespace sandbox::box {

class PlanWriter {
 public:
  // A field with a NUL byte would become two: paths and names are checked before they get here.
  void add(wire::PlanOp op, std::initializer_list<std::string> fields) {
    bytes_ += static_cast<char>(op);
    bytes_ += static_cast<char>(fields.size());
    for (const std::string& field : fields) {
      bytes_ += field.c_str();
      bytes_ += '\0';
    }
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace sandbox::box
