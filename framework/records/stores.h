// Stores: creates the Store of every plugin. DurableStores is the real implementation
// (durable_stores.h).
//
// Owned by app/; outlives the stores that it makes. Any Thread.
#pragma once

#include <memory>
#include <string_view>

#include <turnpike/store.h>

namespace turnpike::records {

class Stores {
 public:
  virtual ~Stores() = default;
  // The records of the plugin with that name. May be called more than once.
  [[nodiscard]] virtual std::unique_ptr<Store> store_of(std::string_view plugin) = 0;
};

}  // namespace turnpike::records
