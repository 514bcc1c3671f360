// A chart of a run in the shape that E2B's SDKs have for it.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tools::api::e2b {

// `chart` is as in a run's outputs. Kinds that the SDKs do not know are "unknown", with a title.
nlohmann::json chart_of(const nlohmann::json& chart);

// Returns the chart for a figure in which nothing has one; `text` is the figure's own, with its
// title.
nlohmann::json unknown_chart(const std::string& text);

}  // namespace tools::api::e2b
