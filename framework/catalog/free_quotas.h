// FreeQuotas: an account's remaining limits on free variants, as `GET .../free-quotas` shows them:
// one entry per provider and bucket scope. If each route of a provider has its own bucket, the
// entry shows the bucket with the least left in its window.
//
// Made with its View, for the same program; immutable. left() and body() may suspend, any fiber or
// Thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <turnpike/result.h>

#include "base/error.h"
#include "quota/store.h"
#include "registry/program.h"

namespace turnpike::catalog {

class FreeQuotas {
 public:
  explicit FreeQuotas(const registry::Program& program);

  // One entry: of an account's buckets in the scope, the one with the least left in its window.
  struct Left {
    std::string provider_key;
    std::string scope;
    quota::Limits limits;
    quota::Standing standing;
  };
  // Error: gateway.free_unavailable.
  [[nodiscard]] Result<std::vector<Left>, base::Error> left(std::string_view account_id,
                                                            quota::QuotaStore& store,
                                                            runtime::Deadline deadline) const;
  // left() as JSON.
  [[nodiscard]] Result<std::string, base::Error> body(std::string_view account_id,
                                                      quota::QuotaStore& store, std::int64_t now_ms,
                                                      runtime::Deadline deadline) const;

 private:
  struct Bucket {
    std::string key;
    quota::Limits limits;
  };
  struct Entry {
    std::string provider_key;
    std::string scope;
    std::vector<Bucket> buckets;
  };
  std::vector<Entry> entries_;  // sorted by provider key and scope
};

}  // namespace turnpike::catalog
