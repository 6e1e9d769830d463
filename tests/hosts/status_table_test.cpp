#include "hosts/status_table.h"
#include "support/x402_lane.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <turnpike/helpers/refusal_codes.h>

namespace turnpike::hosts {
namespace {

using base::ErrorCode;
using base::ErrorInfo;

// The statuses of the interface, and those that HTTP defines for heads that the wire refuses.
const std::set<int> known_statuses = {400, 401, 402, 403, 404, 405, 406, 408, 409, 411, 412, 413,
                                      414, 415, 429, 431, 500, 501, 502, 503, 504, 505};

TEST(StatusTableTest, EveryCodeHasAStatusThatFitsItsFault) {
  for (const ErrorInfo& info : base::all_errors()) {
    const int status = http_status(info.code);
    EXPECT_TRUE(known_statuses.contains(status)) << info.name << " " << status;
    if (info.fault == base::Fault::caller) {
      const bool is_version_or_coding = status == 501 || status == 505;
      EXPECT_TRUE(status < 500 || is_version_or_coding) << info.name << " " << status;
    } else if (info.code != base::ErrorCode::purchase_settlement_conflict) {
      EXPECT_GE(status, 500) << info.name;  // the other is a conflict beyond the caller
    }
  }
}

// The codes that the SDK documents for lanes must match the gateway's.
TEST(StatusTableTest, CodesForLanesAreThoseOfTheGatewayWithTheirStatus) {
  std::set<std::string_view> names;
  for (const RefusalCode& code : refusal_codes) {
    const ErrorInfo* info = base::find_error(code.name);
    ASSERT_NE(info, nullptr) << code.name;
    EXPECT_EQ(call_status(info->code), code.status) << code.name;
    EXPECT_FALSE(code.when.empty());
    EXPECT_TRUE(names.insert(code.name).second) << code.name << " stands there twice";
  }
}

TEST(StatusTableTest, CodesThatTheInterfaceNamesHaveItsStatus) {
  const std::map<std::string, int> given = {
      {"gateway.upstream_transport_or_response_failure", 502},
      {"gateway.upstream_response_too_large", 502},
      {"gateway.upstream_redirect", 502},
      {"gateway.upstream_timeout", 504},
      {"gateway.upstream_credential", 503},
      {"gateway.upstream_rate_limited", 503},
      {"gateway.route_blocked", 503},
      {"gateway.evidence_stale", 503},
      {"gateway.transfer_limit", 503},
      {"gateway.route_not_found", 404},
      {"gateway.method_not_allowed", 405},
      {"registry.unavailable", 503},
      {"billing.pricing_unavailable", 503},
      {"billing.settlement_unknown", 503},
      {"billing.credits_reserved", 429},
      {"billing.key_cap_reached", 429},
      {"billing.credits_exhausted", 402},
      {"auth.wrong_environment", 401},
      {"auth.credential_conflict", 400},
      {"x402.not_payable", 400},
      {"x402.allowance_required", 412},
      {"request.target_too_long", 414},
      {"request.query_too_long", 400},
      {"request.headers_too_large", 431},
      {"catalog.cursor_stale", 409},
      {"catalog.cursor_invalid", 400},
      {"catalog.capability_not_found", 404},
      {"account.forbidden", 403},
      {"account.read_failed", 500},
      {"account.absent", 502},
      {"account.provisioning", 503},
  };
  for (const auto& [name, status] : given) {
    const ErrorInfo* info = base::find_error(name);
    ASSERT_NE(info, nullptr) << name;
    EXPECT_EQ(http_status(info->code), status) << name;
  }
}

TEST(StatusTableTest, ABodyThatARouteOfTheRegistryDoesNotTakeIs400) {
  for (const ErrorInfo& info : base::all_errors()) {
    const bool is_of_body = info.code == ErrorCode::request_body_too_large ||
                            info.code == ErrorCode::request_media_type_rejected;
    EXPECT_EQ(call_status(info.code), is_of_body ? 400 : http_status(info.code)) << info.name;
  }
  EXPECT_EQ(http_status(ErrorCode::request_body_too_large), 413);
  EXPECT_EQ(http_status(ErrorCode::request_media_type_rejected), 415);
}

// A 402 is never transient, so it never advises a retry.
TEST(StatusTableTest, PaymentRequiredNeverAdvisesToWait) {
  for (const ErrorInfo& info : base::all_errors()) {
    if (http_status(info.code) != 402) continue;
    EXPECT_NE(info.advice, base::Advice::after_delay) << info.name;
    EXPECT_NE(info.advice, base::Advice::same_request) << info.name;
  }
}

}  // namespace
}  // namespace turnpike::hosts
