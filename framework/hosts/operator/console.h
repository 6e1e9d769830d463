// Console: the pages of the operator console (docs/operating.md, "The console"), on the operator
// listener only. An operator credential with the authority `console.read` opens a session, whose
// cookie is sent to /console only. Pages are rendered on a small share of the blocking pool, so
// that many readers cannot take threads from calls.
//
// Owned by OperatorHost; called on the fibers of all loop Threads, waits for the pool.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <turnpike/host.h>
#include <turnpike/result.h>

#include "base/metrics.h"
#include "hosts/backend.h"
#include "hosts/cookie.h"
#include "hosts/operator/console_pace.h"
#include "hosts/operator/console_sessions.h"
#include "hosts/operator/console_source.h"
#include "hosts/operator/correction_route.h"
#include "hosts/operator/status_route.h"
#include "hosts/page.h"
#include "hosts/pages.h"
#include "hosts/refusal.h"
#include "hosts/route.h"
#include "identity/account_store.h"
#include "identity/audit.h"
#include "identity/key_store.h"
#include "identity/members.h"
#include "identity/operators.h"
#include "identity/tries.h"
#include "ledger/corrections.h"
#include "ledger/reports.h"
#include "ledger/store.h"
#include "ledger/usage.h"
#include "registry/generation.h"
#include "runtime/pool.h"
#include "status/store.h"

namespace turnpike::hosts::operators {

// The sources of the pages; all outlive the console.
struct ConsoleParts {
  const Pages& pages;
  Backend& backend;
  const ConsoleSource& source;
  identity::AuditStore& audit;
  identity::AccountStore& accounts;
  identity::KeyStore& keys;
  identity::MemberStore& members;
  ledger::LedgerStore& ledger;
  ledger::UsageStore& usage;
  ledger::ReportStore& reports;
  registry::ManifestStore& manifest;
};

// The operator who views a page.
struct Visitor {
  identity::Operator who;
  Caller principal;
  std::string page_token;

  [[nodiscard]] bool may(identity::Authority authority) const noexcept {
    return who.authorities.has(authority);
  }
};

// The facts for rendering one page that are known before the stores are asked.
struct ConsoleLook {
  const ConsoleParts& parts;
  const base::Metrics& metrics;
  ledger::CorrectionStore& corrections;
  status::StatusStore& status;
  const Visitor& visitor;
  const Asked& asked;
  site::Facts facts;
  Health health;
  PaceNow pace;
  std::string form_key;  // random: the Idempotency-Key of a form on the page

  [[nodiscard]] std::int64_t now_ms() const noexcept { return facts.now_ms; }
  [[nodiscard]] std::int64_t today() const noexcept { return facts.now_ms / 86'400'000; }
};

// A page: `fill` asks the stores and sets the values of the layout. It is called on the pool.
struct ConsolePage {
  std::string_view title;
  std::string_view place;  // navigation entry: "/console/ledger"
  std::string_view layout;
  std::optional<base::Error> (*fill)(const ConsoleLook& look, site::Slots slots);
};

// Renders refusals as pages of the console.
class ConsoleRefusals final : public RefusalPages {
 public:
  explicit ConsoleRefusals(const Pages& pages) noexcept : pages_(pages) {}
  [[nodiscard]] RefusalBody page(const base::Error& error,
                                 const RefusalAsked& asked) const override;

 private:
  const Pages& pages_;
};

class Console {
 public:
  // The objects that the console shares with the other routes of the host.
  struct Shared {
    identity::Operators& operators;
    ledger::CorrectionStore& corrections;
    status::StatusStore& status;
    const CorrectionRoute& correction_route;
    const StatusRoute& status_route;
    const base::Metrics& metrics;
    runtime::BlockingPool& pool;
    const Clock& clock;
    Random& random;
  };
  Console(const ConsoleParts& parts, const Shared& shared);

  [[nodiscard]] const Shared& shared() const noexcept { return shared_; }

  void show(const ConsolePage& page, Turn& turn, const Asked& asked) const;

  // Handles a form: passes its fields as a JSON body to `act`, a route of the host, then redirects
  // the browser to `back`. The operator needs the authority of that route.
  using Act = Result<std::string, base::Error> (*)(const Console& console, Turn& turn,
                                                   const Asked& asked);
  void take_form(identity::Authority authority, Act act, std::string_view back, Turn& turn,
                 const Asked& asked) const;

  void show_login(Turn& turn, const Asked& asked) const;
  void sign_in(Turn& turn, const Asked& asked) const;
  void sign_out(Turn& turn, const Asked& asked) const;

 private:
  // Nothing: the request was redirected to the sign-in page, or refused.
  [[nodiscard]] std::optional<Visitor> visitor_of(Turn& turn) const;
  [[nodiscard]] std::optional<std::string> token_of(const Turn& turn) const;
  // Whether the form came from a page of this listener with the visitor's token; otherwise the
  // request is refused.
  [[nodiscard]] bool is_own_form(Turn& turn, const Asked& asked, const Visitor& visitor) const;
  void send_to_login(Turn& turn, bool had_session) const;
  void refuse(Turn& turn, const base::Error& error) const;
  [[nodiscard]] site::Frame frame_of(std::string_view title, std::string_view place,
                                     const Visitor& visitor) const;
  [[nodiscard]] std::string random_text() const;
  template <class F>
  [[nodiscard]] auto ask(F&& work) const -> std::invoke_result_t<F>;

  const ConsoleParts parts_;
  const Shared shared_;
  const runtime::PoolUser user_;
  const Cookie cookie_;
  mutable identity::Tries tries_;
  mutable ConsoleSessions sessions_;
  mutable Pace pace_;
};

inline constexpr std::string_view console_path = "/console";
inline constexpr std::string_view console_login_path = "/console/login";

// The rows, in matching order.
std::span<const Route<Console>> console_routes() noexcept;

// The pages (console_*.cpp). The head of each file says what its page reads.
std::optional<base::Error> fill_overview(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_providers(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_revenue(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_errors(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_ledger(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_generations(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_difference(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_sweeps(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_accounts(const ConsoleLook& look, site::Slots slots);
std::optional<base::Error> fill_account(const ConsoleLook& look, site::Slots slots);

}  // namespace turnpike::hosts::operators
