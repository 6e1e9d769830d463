// Functions on plugins' offers (turnpike/offers.h): checks declarations, finds the row for a
// request, and checks answers. Pure; any Thread.
#pragma once

#include <string>
#include <string_view>

#include <turnpike/offers.h>

namespace turnpike::plugin {

// Describes the fault of a plugin's declaration to its author; empty: none.
std::string problem_of_offers(const Offers& offers);

// The row for `path`, the part after "/v1/plugins/<plugin>/"; null: none.
const IntakePath* find_intake(std::span<const IntakePath> rows, std::string_view path) noexcept;

// Describes the fault of a plugin's answer; empty: it may be sent.
std::string problem_of_reply(const IntakeReply& reply);

}  // namespace turnpike::plugin
