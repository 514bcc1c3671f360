#include "mcp/http/metrics.h"

#include <sstream>

namespace mcp::http {
namespace {

constexpr const char* kRequests = "hutch_http_requests_total";
constexpr const char* kDurations = "hutch_http_request_seconds";

void head(std::ostream& out, const std::string& name, const std::string& type,
          const std::string& help) {
  out << "# HELP " << name << ' ' << help << "\n# TYPE " << name << ' ' << type << '\n';
}

}  // namespace

std::string metric(const std::string& name, const std::string& type, const std::string& help,
                   double value) {
  std::ostringstream out;
  out.precision(15);
  head(out, name, type, help);
  out << name << ' ' << value << '\n';
  return out.str();
}

void RequestMetrics::count(const std::string& route, int status,
                           std::chrono::steady_clock::duration took) {
  const double seconds = std::chrono::duration<double>(took).count();
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  Durations& durations = durations_[route];
  ++durations.count;
  durations.sum += seconds;
  for (std::size_t i = 0; i < kSeconds.size(); ++i) {
    if (seconds <= kSeconds[i]) ++durations.buckets[i];
  }
}

std::string RequestMetrics::print() const {
  const std::lock_guard lock(mutex_);
  std::ostringstream out;
  head(out, kRequests, "counter", "Answered requests.");
  for (const auto& [key, count] : requests_) {
    out << kRequests << "{route=\"" << key.first << "\",status=\"" << key.second << "\"} " << count
        << '\n';
  }
  head(out, kDurations, "histogram", "From a complete head to the answer, or to its stream.");
  for (const auto& [route, durations] : durations_) {
    const std::string labels = "{route=\"" + route + "\"";
    for (std::size_t i = 0; i < kSeconds.size(); ++i) {
      out << kDurations << "_bucket" << labels << ",le=\"" << kSeconds[i] << "\"} "
          << durations.buckets[i] << '\n';
    }
    out << kDurations << "_bucket" << labels << ",le=\"+Inf\"} " << durations.count << '\n'
        << kDurations << "_sum" << labels << "} " << durations.sum << '\n'
        << kDurations << "_count" << labels << "} " << durations.count << '\n';
  }
  return out.str();
}

}  // namespace mcp::http
