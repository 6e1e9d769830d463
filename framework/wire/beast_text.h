// view(): converts text of Boost.Beast's parsers to string_view. Private to wire/; any Thread.
#pragma once

#include <string_view>

#include <boost/beast/core/string_type.hpp>

namespace turnpike::wire {

inline std::string_view view(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace turnpike::wire
