// contained(): calls into a plugin and turns every exception into a failure. It is the only place
// where exceptions of plugins end. The text is copied, so no exception object of a plugin survives;
// its type information is that of libstdc++, which the first gate ensures (inspect.h). Any Thread.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <turnpike/result.h>

namespace turnpike::plugin {

template <class F>
auto contained(F&& function) noexcept -> decltype(function()) {
  try {
    return std::forward<F>(function)();
  } catch (const std::exception& error) {
    return Failure{
        FailureKind::plugin_fault, std::string("the plugin threw: ") + error.what(), {}, true};
  } catch (...) {
    return Failure{FailureKind::plugin_fault,
                   "the plugin threw: an exception of a type that is not std::exception",
                   {},
                   true};
  }
}

}  // namespace turnpike::plugin
