#include "runtime/limits_check.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace turnpike::runtime {
namespace {

constexpr std::uint64_t maps_per_fiber = 2;

std::uint64_t maps_granted() {
  std::uint64_t granted = 65'530;  // the kernel's default
  std::ifstream("/proc/sys/vm/max_map_count") >> granted;
  std::ifstream maps("/proc/self/maps");
  const auto used = static_cast<std::uint64_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
  return granted - std::min(granted, used);
}

}  // namespace

SystemLimits raise_system_limits() {
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  if (descriptors.rlim_cur < descriptors.rlim_max) {
    const rlimit raised{descriptors.rlim_max, descriptors.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) descriptors = raised;
  }
  return {descriptors.rlim_cur, maps_granted() / maps_per_fiber};
}

std::vector<std::string> unmet_needs(const SystemLimits& limits, const SystemNeeds& needs) {
  std::vector<std::string> unmet;
  if (limits.descriptors_max < needs.descriptors) {
    unmet.push_back("the configured limits need " + std::to_string(needs.descriptors) +
                    " file descriptors, the system grants " +
                    std::to_string(limits.descriptors_max) +
                    "; raise it (ulimit -n, LimitNOFILE= of the service)");
  }
  if (limits.fibers_max < needs.fibers) {
    unmet.push_back("the configured limits need " + std::to_string(needs.fibers) +
                    " calls in flight, the system's memory maps suffice for " +
                    std::to_string(limits.fibers_max) + "; raise the sysctl vm.max_map_count to " +
                    std::to_string(maps_per_fiber * needs.fibers + 8'192));
  }
  return unmet;
}

}  // namespace turnpike::runtime
