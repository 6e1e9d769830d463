#include "hosts/account/money_body.h"

#include <utility>

#include "base/strict_object.h"
#include "commerce/offer.h"

namespace turnpike::hosts::account {

Result<std::int64_t, base::Error> read_money(std::string_view json, std::string_view member,
                                             std::size_t whole_digits_max) {
  const std::string place = base::pointer_to(member);
  base::StrictObject money(json, {"currency", "amount"});
  const std::string currency = money.text("currency", {1, 16});
  const std::string text = money.text("amount", {1, 32});
  if (!money.problems().empty()) {
    base::Error error = money.refusal();
    for (base::FieldProblem& field : error.fields) field.location.insert(0, place);
    return error;
  }
  const auto refused = [&](std::string problem, std::string fix) {
    return base::Error{base::ErrorCode::purchase_amount_invalid,
                       "This is no amount of money that is taken here.",
                       0,
                       {{place, std::move(problem), std::move(fix)}}};
  };
  const std::string taken = commerce::Terms().currency;
  if (currency != taken) {
    return refused("its currency is another one", "Send \"currency\": \"" + taken + "\".");
  }
  if (const auto minor = commerce::parse_amount(text, whole_digits_max)) return *minor;
  return refused("its amount is not 1 to " + std::to_string(whole_digits_max) +
                     " digits, a point and two digits",
                 "Send \"amount\": \"10.00\".");
}

}  // namespace turnpike::hosts::account
