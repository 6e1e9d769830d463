// A repair of Poco::Data::PostgreSQL 1.11: StatementExecutor frees the last result before it
// executes again, and keeps the stale pointer when that execution fails; its destructor, or the
// next execution, then frees it a second time. Kept statements meet this at their first failure.
// The pointer is private, so it is reached through an explicit instantiation, to which the language
// grants access.
//
// Private to connection.cpp.
#pragma once

#include <Poco/Data/PostgreSQL/PostgreSQLStatementImpl.h>
#include <Poco/Data/PostgreSQL/StatementExecutor.h>
#include <Poco/Data/Statement.h>

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

template struct Opened<ExecutorOfStatement,
                       &Poco::Data::PostgreSQL::PostgreSQLStatementImpl::_statementExecutor>;
template struct Opened<ResultOfExecutor,
                       &Poco::Data::PostgreSQL::StatementExecutor::_pResultHandle>;

}  // namespace poco_repair

class RepairedStatement : public Poco::Data::Statement {
 public:
  explicit RepairedStatement(Poco::Data::Session& session) : Statement(session) {}

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
