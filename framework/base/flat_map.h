// FlatMap: a hash map for what every call looks up: elements stand in one array beside a byte of
// hash each, so that a find touches one element where std::unordered_map follows three pointers.
// It is Boost.Unordered's; elements move when others come, so what must stay is kept by pointer.
//
// Like a container of std: owned by whoever uses it, who also locks it.
#pragma once

#include <functional>

#include <boost/unordered/unordered_flat_map.hpp>

namespace turnpike::base {

// REQUIRES: Hash spreads over all its bits, and says so by `is_avalanching`.
template <class Key, class Value, class Hash>
using FlatMap = boost::unordered_flat_map<Key, Value, Hash, std::equal_to<>>;

}  // namespace turnpike::base
