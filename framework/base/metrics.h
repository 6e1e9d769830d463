// Metrics: counters, gauges and histograms in the Prometheus model. Chosen library: prometheus-cpp
// (its registry and text format; the HTTP exposer is not used). A metric is looked up once, at
// start or when a generation is bound; adding to it is a few relaxed atomic operations.
//
// Owned by app/; metrics live as long as the registry and may be used from any Thread. Labels must
// come from a bounded set (route ids, codes, plugin names), never from callers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnpike::base {

using Labels = std::map<std::string, std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void add(std::uint64_t increment) noexcept = 0;
  void add() noexcept { add(1); }
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void set(double value) noexcept = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void observe(double value) noexcept = 0;
};

// The current value of one metric.
struct Reading {
  Labels labels;
  double value = 0;  // counter or gauge; for a histogram the number of observations
  // For a histogram: its upper bounds, and the cumulative counts.
  std::vector<std::pair<double, double>> buckets;
};

class Metrics {
 public:
  virtual ~Metrics() = default;
  // The same name and labels return the same metric.
  virtual Counter& counter(const std::string& name, const std::string& help,
                           const Labels& labels) = 0;
  virtual Gauge& gauge(const std::string& name, const std::string& help, const Labels& labels) = 0;
  // `bounds` are the upper bounds of the buckets, ascending.
  virtual Histogram& histogram(const std::string& name, const std::string& help,
                               const Labels& labels, const std::vector<double>& bounds) = 0;
  // Prometheus text format 0.0.4.
  [[nodiscard]] virtual std::string text() const = 0;
  // All metrics of this name, with any labels.
  [[nodiscard]] virtual std::vector<Reading> read(std::string_view name) const = 0;
};

std::unique_ptr<Metrics> make_metrics();

}  // namespace turnpike::base
