// FlatMap: a hash map for look-ups of every call: elements are in one array with one byte of hash
// each, so that a look-up touches one element where std::unordered_map follows three pointers. It
// is Boost.Unordered's; elements move on insertion, so store pointers if addresses must be stable.
//
// Like a container of std: the owner also locks it.
#pragma once

#include <functional>

#include <boost/unordered/unordered_flat_map.hpp>

namespace turnpike::base {

// REQUIRES: Hash distributes over all its bits, and declares so by `is_avalanching`.
template <class Key, class Value, class Hash>
using FlatMap = boost::unordered_flat_map<Key, Value, Hash, std::equal_to<>>;

}  // namespace turnpike::base
