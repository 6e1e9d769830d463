// Money in request bodies: {"currency","amount"} (docs/decisions.md, "Bodies"). Pure functions; any
// Thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <turnpike/result.h>

#include "base/error.h"

namespace turnpike::hosts::account {

// Reads the member `member` of `json`, in the smallest unit of the currency. Errors:
// request.body_rejected, purchase.amount_invalid.
Result<std::int64_t, base::Error> read_money(std::string_view json, std::string_view member,
                                             std::size_t whole_digits_max = 4);

}  // namespace turnpike::hosts::account
