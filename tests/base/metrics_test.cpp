#include "base/metrics.h"

#include <gtest/gtest.h>

namespace turnpike::base {
namespace {

TEST(Metrics, SameNameAndLabelsAreTheSameMetric) {
  const auto metrics = make_metrics();
  metrics->counter("turnpike_calls_total", "Calls.", {{"lane", "credits"}}).add(2);
  metrics->counter("turnpike_calls_total", "Calls.", {{"lane", "credits"}}).add();
  metrics->counter("turnpike_calls_total", "Calls.", {{"lane", "free"}}).add();
  const std::string text = metrics->text();
  EXPECT_NE(text.find("turnpike_calls_total{lane=\"credits\"} 3"), std::string::npos) << text;
  EXPECT_NE(text.find("turnpike_calls_total{lane=\"free\"} 1"), std::string::npos) << text;
}

TEST(Metrics, HistogramCountsIntoItsBuckets) {
  const auto metrics = make_metrics();
  auto& histogram = metrics->histogram("turnpike_seconds", "Time.", {}, {0.1, 1});
  histogram.observe(0.05);
  histogram.observe(0.5);
  const std::string text = metrics->text();
  EXPECT_NE(text.find("turnpike_seconds_bucket{le=\"0.1\"} 1"), std::string::npos) << text;
  EXPECT_NE(text.find("turnpike_seconds_bucket{le=\"1\"} 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace turnpike::base
