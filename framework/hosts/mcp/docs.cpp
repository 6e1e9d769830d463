#include "hosts/mcp/docs.h"

#include "base/error.h"
#include "hosts/status_table.h"

namespace turnpike::hosts::mcp {

namespace {

constexpr std::string_view errors_head = R"(# Errors

Every error has a stable `code`, a `message` for people, the `fault` and a `retry` with the `advice`
what to do next and, where that is known, `after_seconds`. Bad input has `fields`: where, what, and
how to mend it. Decide by the code and the advice, not by the message.

`fault` says who can change something: the `caller`, the `provider` behind the gateway, or the
`gateway`. The status is that of the HTTP API; tools tell it as `http_status`.

| advice | what to do |
|---|---|
)";

constexpr std::string_view meaning_of(base::Advice advice) noexcept {
  switch (advice) {
    case base::Advice::never:
      return "Do not repeat this request; tell a person.";
    case base::Advice::after_delay:
      return "Repeat it after `after_seconds`; without one, wait longer each time.";
    case base::Advice::same_request:
      return "Repeat the very same request, with the same idempotency key or payment.";
    case base::Advice::after_top_up:
      return "The account needs Credits first; its owner can get them.";
    case base::Advice::new_payment:
      return "Nothing was charged; a new payment is needed.";
    case base::Advice::restart_paging:
      return "The list changed: begin again without a cursor.";
    case base::Advice::after_change:
      return "Nothing was charged. Change what `fields` or the message name, then send it.";
  }
  return "";
}

}  // namespace

std::string errors_doc() {
  std::string text(errors_head);
  for (const base::Advice advice :
       {base::Advice::never, base::Advice::after_delay, base::Advice::same_request,
        base::Advice::after_top_up, base::Advice::new_payment, base::Advice::restart_paging,
        base::Advice::after_change}) {
    text.append("| `").append(base::name_of(advice)).append("` | ");
    text.append(meaning_of(advice)).append(" |\n");
  }
  text +=
      "\nAn error may carry another advice than its code has here, when the call makes a "
      "difference.\n\n| code | status | fault | advice |\n|---|---|---|---|\n";
  for (const base::ErrorInfo& info : base::all_errors()) {
    text.append("| `").append(info.name).append("` | ");
    text.append(std::to_string(http_status(info.code))).append(" | ");
    text.append(base::name_of(info.fault)).append(" | ");
    text.append(base::name_of(info.advice)).append(" |\n");
  }
  return text;
}

}  // namespace turnpike::hosts::mcp
