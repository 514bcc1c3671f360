// A chart of a run in the shape that E2B's SDKs have for it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tools::rest::e2b {

// `chart` is as in a run's outputs. Kinds that the SDKs do not know are "unknown", with a title.
nlohmann::json chart_of(const nlohmann::json& chart);

}  // namespace tools::rest::e2b
