// Chores: background work that no request waits for. It indexes usage that no reader has asked for
// yet, so that the next reader has little to do; completes accounts that a crash, here or on
// another node, left incomplete; and deletes sessions, links and attempts some time after their
// end, and audit events past their retention. Nothing depends on the time when this is done.
//
// One Thread of its own, at low priority; owned by the gateway. The stores must outlive it.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "base/outage.h"
#include "identity/accounts.h"
#include "identity/audit.h"
#include "identity/session.h"
#include "ledger/usage.h"
#include "oauth/grant_store.h"

namespace turnpike::app {

class Chores {
 public:
  struct AuditLog {
    identity::AuditStore& store;
    std::uint32_t kept_days = 0;  // retention; 0: forever
  };
  Chores(ledger::UsageStore& usage, identity::Accounts accounts, identity::SessionStore& sessions,
         oauth::GrantStore& grants, AuditLog audit, base::Log& log);
  ~Chores();  // waits for the running chore
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

 private:
  void run();
  // Reports the outcome of a chore to the log; returns whether it succeeded.
  template <class Result>
  bool report(base::Outage& outage, std::string_view chore, const Result& result);

  ledger::UsageStore& usage_;
  identity::Accounts accounts_;
  identity::SessionStore& sessions_;
  oauth::GrantStore& grants_;
  const AuditLog audit_;
  base::Log& log_;
  std::mutex mutex_;
  std::condition_variable stop_wanted_;
  bool is_stopping_ = false;
  base::Outage indexing_;
  base::Outage resuming_;
  base::Outage sweeping_;
  base::Outage ending_;
  base::Outage forgetting_;
  std::thread thread_;
};

}  // namespace turnpike::app
