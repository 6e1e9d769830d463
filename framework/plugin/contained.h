// contained(): calls into a plugin and turns everything that it throws into a failure. Plugins that
// use the SDK's macro catch their exceptions themselves; this function is for the others. The text
// is copied, so no exception object of a plugin lives on. Any Thread.
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
    return Failure{FailureKind::plugin_fault, "the plugin threw something", {}, true};
  }
}

}  // namespace turnpike::plugin
