#include "base/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <utility>

namespace turnpike::base {
namespace {

class PrometheusCounter final : public Counter {
 public:
  explicit PrometheusCounter(prometheus::Counter& counter) : counter_(counter) {}
  void add(std::uint64_t increment) noexcept override {
    counter_.Increment(static_cast<double>(increment));
  }

 private:
  prometheus::Counter& counter_;
};

class PrometheusGauge final : public Gauge {
 public:
  explicit PrometheusGauge(prometheus::Gauge& gauge) : gauge_(gauge) {}
  void set(double value) noexcept override { gauge_.Set(value); }

 private:
  prometheus::Gauge& gauge_;
};

class PrometheusHistogram final : public Histogram {
 public:
  explicit PrometheusHistogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void observe(double value) noexcept override { histogram_.Observe(value); }

 private:
  prometheus::Histogram& histogram_;
};

Reading reading_of(prometheus::MetricType type, const prometheus::ClientMetric& metric) {
  Reading reading;
  for (const auto& label : metric.label) reading.labels.emplace(label.name, label.value);
  if (type == prometheus::MetricType::Counter) reading.value = metric.counter.value;
  if (type == prometheus::MetricType::Gauge) reading.value = metric.gauge.value;
  if (type == prometheus::MetricType::Histogram) {
    reading.value = static_cast<double>(metric.histogram.sample_count);
    for (const auto& bucket : metric.histogram.bucket) {
      reading.buckets.emplace_back(bucket.upper_bound,
                                   static_cast<double>(bucket.cumulative_count));
    }
  }
  return reading;
}

class PrometheusMetrics final : public Metrics {
 public:
  Counter& counter(const std::string& name, const std::string& help,
                   const Labels& labels) override {
    return resolve(counters_, name, labels, [&] {
      return std::make_unique<PrometheusCounter>(
          prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels));
    });
  }

  Gauge& gauge(const std::string& name, const std::string& help, const Labels& labels) override {
    return resolve(gauges_, name, labels, [&] {
      return std::make_unique<PrometheusGauge>(
          prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels));
    });
  }

  Histogram& histogram(const std::string& name, const std::string& help, const Labels& labels,
                       const std::vector<double>& bounds) override {
    return resolve(histograms_, name, labels, [&] {
      return std::make_unique<PrometheusHistogram>(
          prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels,
                                                                                     bounds));
    });
  }

  [[nodiscard]] std::string text() const override {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  [[nodiscard]] std::vector<Reading> read(std::string_view name) const override {
    std::vector<Reading> readings;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name != name) continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        readings.push_back(reading_of(family.type, metric));
      }
    }
    return readings;
  }

 private:
  template <class Metric>
  using Known = std::map<std::pair<std::string, Labels>, std::unique_ptr<Metric>>;

  template <class Metric, class Make>
  Metric& resolve(Known<Metric>& known, const std::string& name, const Labels& labels, Make make) {
    const std::lock_guard lock(mutex_);
    auto& metric = known[{name, labels}];
    if (metric == nullptr) metric = make();
    return *metric;
  }

  std::mutex mutex_;
  prometheus::Registry registry_{prometheus::Registry::InsertBehavior::Merge};
  Known<Counter> counters_;
  Known<Gauge> gauges_;
  Known<Histogram> histograms_;
};

}  // namespace

std::unique_ptr<Metrics> make_metrics() { return std::make_unique<PrometheusMetrics>(); }

}  // namespace turnpike::base
