// The routes by which API keys and members read a billing account. The API host and the web host
// serve the same rows; each authenticates callers by its own credentials. Constants; any Thread.
#pragma once

#include <span>

#include "hosts/account_reads.h"
#include "hosts/route.h"

namespace turnpike::hosts::account {

// The objects that the handlers use; all outlive the host.
struct AccountRooms {
  const AccountReads& account;
};

std::span<const Route<AccountRooms>> account_routes() noexcept;

// The path parameters of rows whose path names an account.
inline constexpr Parameter account_path[] = {
    {.name = "billing_account_id",
     .description = "An account of the caller: with an API key `billing_account_id` of the auth "
                    "context, with a session one that the person is a member of.",
     .schema = R"({"type": "string", "minLength": 1})"},
};

inline constexpr std::string_view kept_by_nobody = "private, no-store";

// Sends the body, or refuses with its error.
void send_or_refuse(Turn& turn, const Result<std::string, base::Error>& body);

}  // namespace turnpike::hosts::account
