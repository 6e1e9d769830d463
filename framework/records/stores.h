// Stores: where every plugin's Store comes from. DurableStores is the real one (durable_stores.h).
//
// Owned by app/; outlives what it makes. Any Thread.
#pragma once

#include <memory>
#include <string_view>

#include <turnpike/store.h>

namespace turnpike::records {

class Stores {
 public:
  virtual ~Stores() = default;
  // The records of the plugin of that name. May be asked for more than once.
  [[nodiscard]] virtual std::unique_ptr<Store> store_of(std::string_view plugin) = 0;
};

}  // namespace turnpike::records
