// The error codes of lanes, beside those of the gateway.
#include "base/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace turnpike::base {
namespace {

constexpr LaneCode sound[] = {
    {"fare.due", 402, Fault::caller, Advice::new_payment, "Pay.", CodeRole::none},
    {"fare.not_sold", 400, Fault::caller, Advice::never, "Not sold.", CodeRole::not_payable},
    {"fare.away", 503, Fault::gateway, Advice::after_delay, "Away.", CodeRole::unavailable}};

TEST(LaneCodesTest, AreCodesLikeOurOwn) {
  // The tests of one process share the known codes; only this test adds codes with roles.
  EXPECT_EQ(code_of(CodeRole::not_payable), ErrorCode::auth_credential_conflict);
  EXPECT_EQ(code_of(CodeRole::unavailable), ErrorCode::billing_ledger_unavailable);
  EXPECT_EQ(code_of(CodeRole::outcome_unknown), ErrorCode::billing_settlement_unknown);
  EXPECT_EQ(role_of(ErrorCode::billing_settlement_unknown), CodeRole::outcome_unknown);
  const std::size_t before = all_errors().size();
  ASSERT_TRUE(add_lane_codes("fare", sound).ok());
  ASSERT_TRUE(add_lane_codes("fare", sound).ok()) << "again, as by a second load";
  ASSERT_EQ(all_errors().size(), before + 3);

  const ErrorInfo* const due = find_error("fare.due");
  ASSERT_NE(due, nullptr);
  EXPECT_EQ(&info_of(due->code), due);
  EXPECT_EQ(due->fault, Fault::caller);
  EXPECT_EQ(due->advice, Advice::new_payment);
  ASSERT_NE(lane_error(due->code), nullptr);
  EXPECT_EQ(lane_error(due->code)->status, 402);
  EXPECT_EQ(lane_error(due->code)->text, "Pay.");
  EXPECT_EQ(lane_error(ErrorCode::gateway_internal), nullptr);
  EXPECT_EQ(info_of(code_of(CodeRole::not_payable)).name, "fare.not_sold");
  EXPECT_EQ(role_of(code_of(CodeRole::unavailable)), CodeRole::unavailable);
  EXPECT_EQ(role_of(due->code), CodeRole::none);
}

TEST(LaneCodesTest, ThatAreNoneAreRefusedWhole) {
  const auto problem_of = [](const LaneCode& code) {
    const LaneCode codes[] = {
        {"toll.fine", 400, Fault::caller, Advice::never, "Fine.", CodeRole::none}, code};
    const auto added = add_lane_codes("toll", codes);
    EXPECT_EQ(find_error("toll.fine"), nullptr) << "none of them is known";
    return added.ok() ? std::string() : added.error();
  };
  const auto with = [](auto change) {
    LaneCode code{"toll.word", 400, Fault::caller, Advice::never, "Text.", CodeRole::none};
    change(code);
    return code;
  };
  const std::string no_name = " is not the lane's name, a dot and a word of a-z, 0-9 and _";
  for (const char* name :
       {"gateway.internal", "toll", "toll.", "toll.Word", "toll.a.b", "tollx.a"}) {
    EXPECT_EQ(problem_of(with([&](LaneCode& code) { code.name = name; })),
              "its error code \"" + std::string(name) + "\"" + no_name);
  }
  const std::string it = "its error code \"toll.word\" ";
  for (const int status : {0, 200, 399, 600}) {
    EXPECT_EQ(problem_of(with([&](LaneCode& code) { code.status = status; })),
              it + "has a status outside 400 to 599");
  }
  EXPECT_EQ(problem_of(with([](LaneCode& code) { code.advice = static_cast<Advice>(99); })),
            it + "has an unknown fault, advice or role");
  EXPECT_EQ(problem_of(with([](LaneCode& code) { code.text = ""; })), it + "has no text");
  EXPECT_EQ(problem_of(with([](LaneCode& code) { code.name = "toll.fine"; })),
            "its error code \"toll.fine\" is there twice");
}

TEST(LaneCodesTest, CannotChangeTheirMeaning) {
  constexpr LaneCode first[] = {
      {"pass.gone", 402, Fault::caller, Advice::never, "Gone.", CodeRole::none}};
  constexpr LaneCode other[] = {
      {"pass.gone", 403, Fault::caller, Advice::never, "Gone.", CodeRole::none}};
  ASSERT_TRUE(add_lane_codes("pass", first).ok());
  const auto changed = add_lane_codes("pass", other);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error(), "its error code \"pass.gone\" is known with another meaning");
}

TEST(LaneCodesTest, HaveABoundInAll) {
  std::vector<std::string> names;
  for (int at = 0; at < 200; ++at) names.push_back("many.w" + std::to_string(at));
  std::vector<LaneCode> codes;
  for (const std::string& name : names) {
    codes.push_back({name, 400, Fault::caller, Advice::never, "Text.", CodeRole::none});
  }
  const auto added = add_lane_codes("many", codes);
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error(), "its error codes are more than there is room for");
  EXPECT_EQ(find_error("many.w0"), nullptr);
}

}  // namespace
}  // namespace turnpike::base
