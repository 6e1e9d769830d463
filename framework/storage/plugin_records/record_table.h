// Code that the two writers of grouped applies (records/table.h) share. SQLite selects the
// conflicts and then binds vectors to prepared statements, inside a transaction that is serialized
// with the ledger's: both use one file, so there is one file to back up, one log to copy and one
// schema; they wait for each other at most for a commit. PostgreSQL gets the whole group as JSON in
// one call of one function, which is a transaction of its own and a single round trip.
//
// Each writer owns its session and is used by one Thread. Private to storage/.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "records/table.h"
#include "storage/stores.h"

namespace turnpike::storage {

// Runs `work`, turning a StoreError into a TableFailure.
template <class T, class F>
records::Stored<T> tabled(F&& work) {
  using Kind = records::TableFailure::Kind;
  try {
    return work();
  } catch (const StoreError& error) {
    const Kind kind = error.kind() == StoreError::Kind::unavailable ? Kind::unavailable
                      : error.kind() == StoreError::Kind::unknown   ? Kind::unknown
                                                                    : Kind::fatal;
    return records::TableFailure{kind, error.what()};
  }
}

// The checks of a group as a JSON array of {a: position of the apply, p: plugin, k: key, v:
// version}.
void fill_checks(std::string& text, std::span<const records::Apply> batch);

std::unique_ptr<records::Writer> make_sqlite_writer(const Context& context);
std::unique_ptr<records::Writer> make_postgres_writer(const Context& context);

}  // namespace turnpike::storage
