// DataDir: the gateway's directory on disk, held by a lock that the kernel releases when the
// process ends for any reason. Holding the lock proves that every earlier incarnation of this node
// is dead. The file `node` in the directory gives the node its permanent name.
//
// Owned by Node in the gateway's role; nothing to call after construction.
#pragma once

#include <string>

#include <turnpike/host.h>

namespace turnpike::storage {

class DataDir {
 public:
  // Creates the directory if absent. Throws StoreError when another process holds the lock.
  DataDir(const std::string& directory, Random& random);
  ~DataDir();
  DataDir(const DataDir&) = delete;
  DataDir& operator=(const DataDir&) = delete;

  [[nodiscard]] const std::string& node_name() const noexcept { return node_name_; }

 private:
  int lock_ = -1;
  std::string node_name_;
};

}  // namespace turnpike::storage
