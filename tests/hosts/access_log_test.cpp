#include "hosts/access_log.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/kept_log.h"

namespace turnpike::hosts {
namespace {

using testing::HasSubstr;
using testing::Not;

class AccessLogTest : public testing::Test {
 protected:
  support::KeptLog log_;
  std::unique_ptr<base::Metrics> metrics_ = base::make_metrics();
  std::unique_ptr<AccessLog> access_log_ = make_access_log(log_, *metrics_);

  AccessRecord call_record() {
    AccessRecord record;
    record.request_id = "01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11";
    record.peer = "203.0.113.7:50512";
    record.method = "GET";
    record.path = "/v1/gateway/x";
    record.endpoint = &access_log_->endpoint("gateway");
    record.is_call = true;
    record.account_id = "acct_1";
    record.key_id = "key_1";
    record.provider = "x";
    record.operation = "GET /v1/gateway/{anything}";
    record.route = "route-1";
    record.lane = "credits";
    record.status = 200;
    record.credits_charged = 3;
    record.reply_bytes = 120;
    record.total_us = 2'500;
    record.upstream_us = 1'500;
    return record;
  }
};

TEST_F(AccessLogTest, WritesOneLineOfData) {
  access_log_->write(call_record());
  const std::string lines = log_.lines();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  for (const char* part :
       {"\"access\"", "\"request_id\":\"01939d2c-7a40-7c6e-8f3b-5a1f0e9d2c11\"",
        "\"method\":\"GET\"", "\"account_id\":\"acct_1\"", "\"key_id\":\"key_1\"",
        "\"provider\":\"x\"", "\"operation\":\"GET /v1/gateway/{anything}\"",
        "\"status\":200", "\"credits_charged\":3", "\"total_us\":2500", "\"whole\":true"}) {
    EXPECT_THAT(lines, HasSubstr(part));
  }
  EXPECT_THAT(lines, Not(HasSubstr("\"reason\"")));
}

TEST_F(AccessLogTest, AReasonIsCutToWhatALineMayHold) {
  AccessRecord failed = call_record();
  failed.error = base::ErrorCode::gateway_upstream_timeout;
  const std::string reason = "plugin http: " + std::string(reason_bytes_shown, 'x');
  failed.reason = reason;
  access_log_->write(failed);
  EXPECT_THAT(log_.lines(), HasSubstr("\"reason\":\"plugin http: xxx"));
  EXPECT_THAT(log_.lines(), HasSubstr("x\",\"credits_charged\""));
  EXPECT_THAT(log_.lines(), Not(HasSubstr(std::string(reason_bytes_shown, 'x'))));
}

TEST_F(AccessLogTest, CountsByEndpointStatusAndCode) {
  access_log_->write(call_record());
  AccessRecord refused = call_record();
  refused.status = 402;
  refused.error = base::ErrorCode::billing_credits_exhausted;
  refused.credits_charged = 0;
  access_log_->write(refused);
  AccessRecord nothing_sent = call_record();
  nothing_sent.status = 0;
  access_log_->write(nothing_sent);
  const std::string text = metrics_->text();
  for (const char* line : {"turnpike_http_requests_total{endpoint=\"gateway\",status=\"2xx\"} 1",
                           "turnpike_http_requests_total{endpoint=\"gateway\",status=\"4xx\"} 1",
                           "turnpike_http_requests_total{endpoint=\"gateway\",status=\"none\"} 1",
                           "turnpike_errors_total{code=\"billing.credits_exhausted\"} 1",
                           "turnpike_credits_charged_total 6", "turnpike_call_seconds_count 3"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST_F(AccessLogTest, CountsUnderOneEndpointWhateverHostItIsOf) {
  EXPECT_EQ(&access_log_->endpoint("health"), &access_log_->endpoint("health"));
  AccessRecord record;
  record.status = 200;
  record.endpoint = &access_log_->endpoint("health");
  access_log_->write(record);
  record.endpoint = nullptr;
  record.status = 404;
  access_log_->write(record);
  EXPECT_THAT(metrics_->text(),
              HasSubstr("turnpike_http_requests_total{endpoint=\"health\",status=\"2xx\"} 1"));
  EXPECT_THAT(metrics_->text(),
              HasSubstr("turnpike_http_requests_total{endpoint=\"none\",status=\"4xx\"} 1"));
  EXPECT_THAT(metrics_->text(), HasSubstr("turnpike_call_seconds_count 0"));
}

TEST_F(AccessLogTest, StatusesOutsideTheClassesAreCountedAsNone) {
  AccessRecord odd = call_record();
  odd.status = 999;
  access_log_->write(odd);
  EXPECT_THAT(metrics_->text(),
              HasSubstr("turnpike_http_requests_total{endpoint=\"gateway\",status=\"none\"} 1"));
}

}  // namespace
}  // namespace turnpike::hosts
