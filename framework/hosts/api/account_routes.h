// The account routes that an API key may read: whom it speaks for, its Credits, its usage, what
// free variants leave it. Each one admits its caller the same way and then answers from
// AccountReads. Stateless; may suspend the fiber of the request.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hosts/account_reads.h"
#include "hosts/turn.h"

namespace turnpike::hosts::api {

class AccountRoutes {
 public:
  AccountRoutes(const AccountReads::Parts& parts, std::string cursor_key);

  void auth_context(Turn& turn) const;
  // `account` is the path's segment, decoded.
  void credit_balance(Turn& turn, std::string_view account) const;
  void billing(Turn& turn, std::string_view account) const;
  void usage(Turn& turn, std::string_view account) const;
  // What became of a call of the key's own account; any other id is 404.
  void call(Turn& turn, std::string_view asked_id) const;
  void free_quotas(Turn& turn, std::string_view account) const;

 private:
  using Body = AccountReads::Body;
  // Answers with the body of what `read` finds for a caller whose own, active account it is
  // (nothing: whichever is), or with what stands against it.
  void answer(Turn& turn, std::optional<std::string_view> account,
              const std::function<Body(const std::string& account_id)>& read) const;
  void answer_without_query(Turn& turn, std::optional<std::string_view> account,
                            const std::function<Body(const std::string& account_id)>& read) const;

  const AccountReads reads_;
};

}  // namespace turnpike::hosts::api
