// FreeQuotas: the remaining limits of an account on free variants, as `GET .../free-quotas` shows
// them: one entry for each provider and bucket scope. Where each route of a provider has its own
// bucket, the entry shows the bucket with the least left in its window.
//
// Made with its View, of the same program; immutable. left() and body() may suspend, any fiber or
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

  // One entry: a bucket of an account, with the least left in its window among those of its scope.
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
  // The same as JSON.
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
  std::vector<Entry> entries_;  // by provider key and scope
};

}  // namespace turnpike::catalog
