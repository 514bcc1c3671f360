// Counts for Prometheus. https://prometheus.io/docs/instrumenting/exposition_formats
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace mcp::http {

// Returns one line of a gauge or counter without labels, with its help.
std::string metric(const std::string& name, const std::string& type, const std::string& help,
                   double value);

// It is safe from many threads.
class RequestMetrics {
 public:
  // `route` is one of few: never what a client wrote.
  void count(const std::string& route, int status, std::chrono::steady_clock::duration took);
  [[nodiscard]] std::string print() const;

 private:
  static constexpr std::array<double, 9> kSeconds{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600};
  struct Durations {
    std::array<std::uint64_t, kSeconds.size()> buckets{};
    std::uint64_t count = 0;
    double sum = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;
  std::map<std::string, Durations> durations_;
};

}  // namespace mcp::http
