#include "identity/recovery_codes.h"
#include "storage/people/audit_rows.h"
#include "storage/people/mail_rows.h"
#include "storage/people/person_rows.h"
#include "storage/people/session_rows.h"
#include "text/encoding.h"

namespace turnpike::storage {
namespace {

constexpr Query delete_codes{"DELETE FROM recovery_code WHERE person_id = $1"};
constexpr Query insert_code{
    "INSERT INTO recovery_code (digest, person_id, created_at) VALUES ($1, $2, $3)"};
constexpr Query use_code{
    "UPDATE recovery_code SET used_at = $1 WHERE digest = $2 AND used_at = -1"
    " AND person_id = (SELECT id FROM person WHERE login = $3) RETURNING person_id",
    "t"};

class SqlRecoveryCodeStore final : public identity::RecoveryCodeStore {
 public:
  explicit SqlRecoveryCodeStore(const Context& context) : context_(context) {}

  Result<Unit, base::Error> replace(const std::vector<crypto::Sha256>& digests,
                                    const identity::RenewedSession& session,
                                    const identity::Actor& actor) override {
    return changed<Unit>("replace recovery codes",
                         [&](Transaction& transaction) -> Result<Unit, base::Error> {
      const std::string& person_id = actor.person_id;
      if (!lock_active_person(transaction, person_id)) return proved_nobody();
      if (!renew_session(context_, transaction, person_id, session)) return proved_nobody();
      transaction.run(delete_codes, {person_id});
      const std::int64_t now_ms = context_.now_ms(transaction);
      for (const crypto::Sha256& digest : digests) {
        transaction.run(insert_code, {text::hex(digest), person_id, now_ms});
      }
      tell_person(context_, transaction, person_id, identity::Notice::recovery_codes_made, "",
                  actor);
      write_audit(context_, transaction,
                  {.actor = actor, .action = "recovery_codes.create", .target = person_id});
      return Unit{};
    });
  }

  Result<identity::BegunSession, base::Error> sign_in(std::string_view login,
                                                      const crypto::Sha256& digest,
                                                      const identity::NewSession& session,
                                                      const identity::Actor& actor) override {
    using Answer = Result<identity::BegunSession, base::Error>;
    return changed<identity::BegunSession>(
        "sign in with recovery code", [&](Transaction& transaction) -> Answer {
          const Rows used = transaction.run(
              use_code, {context_.now_ms(transaction), text::hex(digest), login});
          if (used.empty()) return no_code();
          const std::string& person_id = used.text(0, 0);
          if (!lock_active_person(transaction, person_id)) return no_code();
          tell_person(context_, transaction, person_id, identity::Notice::recovery_code_used, "",
                      actor);
          return begin_as(context_, transaction, person_id, session, actor);
        });
  }

 private:
  static base::Error no_code() {
    return {base::ErrorCode::auth_sign_in_failed,
            "This is no recovery code of this login that was not used already."};
  }

  template <class T, class F>
  Result<T, base::Error> changed(std::string_view what, F&& work) {
    return storage::changed<T>(context_, base::ErrorCode::auth_unavailable, what, work);
  }

  const Context& context_;
};

}  // namespace

std::unique_ptr<identity::RecoveryCodeStore> make_recovery_code_store(const Context& context) {
  return std::make_unique<SqlRecoveryCodeStore>(context);
}

}  // namespace turnpike::storage
