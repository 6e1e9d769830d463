// Two repairs of Poco::Data 1.11.
//   PostgreSQL  StatementExecutor frees the last result before it executes again, and keeps the
//               stale pointer when that execution fails; its destructor, or the next execution,
//               then frees it a second time. Kept statements meet this at their first failure.
//   SQLite      each execution of a statement prepares it anew, which costs more than a small
//               write: a kept one is prepared once, and SQLite does so again when the schema moved.
// The members in question are private, so they are reached through explicit instantiations, to
// which the language grants access.
//
// Private to connection.cpp.
#pragma once

#include <Poco/Data/PostgreSQL/PostgreSQLStatementImpl.h>
#include <Poco/Data/PostgreSQL/StatementExecutor.h>
#include <Poco/Data/SQLite/SQLiteStatementImpl.h>
#include <Poco/Data/SQLite/SessionImpl.h>
#include <Poco/Data/SQLite/Utility.h>
#include <Poco/Data/Session.h>
#include <Poco/Data/Statement.h>

#include <utility>

namespace turnpike::storage {

namespace poco_repair {

template <class Tag, typename Tag::Member pointer>
struct Opened {
  friend typename Tag::Member member_of(Tag) { return pointer; }
};

struct ExecutorOfStatement {
  using Member =
      Poco::Data::PostgreSQL::StatementExecutor Poco::Data::PostgreSQL::PostgreSQLStatementImpl::*;
  friend Member member_of(ExecutorOfStatement);
};
struct ResultOfExecutor {
  using Member = PGresult* Poco::Data::PostgreSQL::StatementExecutor::*;
  friend Member member_of(ResultOfExecutor);
};

struct FirstToBind {
  using Member =
      Poco::Data::AbstractBindingVec::iterator Poco::Data::SQLite::SQLiteStatementImpl::*;
  friend Member member_of(FirstToBind);
};
struct AffectedRows {
  using Member = int Poco::Data::SQLite::SQLiteStatementImpl::*;
  friend Member member_of(AffectedRows);
};

template struct Opened<ExecutorOfStatement,
                       &Poco::Data::PostgreSQL::PostgreSQLStatementImpl::_statementExecutor>;
template struct Opened<ResultOfExecutor,
                       &Poco::Data::PostgreSQL::StatementExecutor::_pResultHandle>;
template struct Opened<FirstToBind, &Poco::Data::SQLite::SQLiteStatementImpl::_bindBegin>;
template struct Opened<AffectedRows, &Poco::Data::SQLite::SQLiteStatementImpl::_affectedRowCount>;

// REQUIRES: the text is one statement.
class PreparedOnce final : public Poco::Data::SQLite::SQLiteStatementImpl {
 public:
  explicit PreparedOnce(Poco::Data::Session& session)
      : SQLiteStatementImpl(*session.impl(), Poco::Data::SQLite::Utility::dbHandle(session)) {}

 private:
  // Poco calls it before every execution; bindImpl() resets what is prepared.
  void compileImpl() override {
    if (!std::exchange(is_prepared_, true)) return SQLiteStatementImpl::compileImpl();
    this->*member_of(FirstToBind{}) = bindings().begin();
    this->*member_of(AffectedRows{}) = -1;  // none counted yet
  }
  bool is_prepared_ = false;
};

inline Poco::Data::StatementImpl::Ptr make_statement(Poco::Data::Session& session) {
  if (dynamic_cast<Poco::Data::SQLite::SessionImpl*>(session.impl()) != nullptr) {
    return new PreparedOnce(session);
  }
  return session.createStatementImpl();
}

}  // namespace poco_repair

class RepairedStatement : public Poco::Data::Statement {
 public:
  explicit RepairedStatement(Poco::Data::Session& session)
      : Statement(poco_repair::make_statement(session)) {}

  // After an execution that threw: the result it freed is forgotten.
  void forget_result() {
    namespace postgres = Poco::Data::PostgreSQL;
    auto* statement = dynamic_cast<postgres::PostgreSQLStatementImpl*>(impl().get());
    if (statement == nullptr) return;
    auto& executor = statement->*member_of(poco_repair::ExecutorOfStatement{});
    executor.*member_of(poco_repair::ResultOfExecutor{}) = nullptr;
  }
};

}  // namespace turnpike::storage
