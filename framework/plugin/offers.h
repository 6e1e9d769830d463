// Functions on what plugins offer (turnpike/offers.h): whether a declaration is well-formed, which
// row of it a request is for, and whether an answer may be sent. Pure; any Thread.
#pragma once

#include <string>
#include <string_view>

#include <turnpike/offers.h>

namespace turnpike::plugin {

// Says to its author what is wrong with a plugin's declaration; empty: nothing is.
std::string problem_of_offers(const Offers& offers);

// The row for `path`, as it stands behind "/v1/plugins/<plugin>/"; null: there is none.
const IntakePath* find_intake(std::span<const IntakePath> rows, std::string_view path) noexcept;

// Says what is wrong with a plugin's answer; empty: it may be sent.
std::string problem_of_reply(const IntakeReply& reply);

}  // namespace turnpike::plugin
