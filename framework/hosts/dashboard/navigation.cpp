#include "hosts/dashboard/navigation.h"

namespace turnpike::hosts::dashboard {

namespace {

struct Entry {
  std::string_view label;
  std::string_view page;
};

constexpr Entry entries[] = {
    {"Overview", ""},
    {"Calls", "/calls"},
    {"Usage", "/usage"},
    {"Keys", "/keys"},
    {"Playground", "/playground"},
    {"Free quotas", "/free-quotas"},
    {"Billing", "/billing"},
    {"Purchases", "/purchases"},
    {"Auto Top-Up", "/auto-top-up"},
    {"Notifications", "/notifications"},
    {"Members", "/members"},
    {"Security log", "/security-log"},
    {"Status for me", "/status"},
};

}  // namespace

std::string overview_path(std::string_view account_id) { return path_of(account_id, ""); }

std::string path_of(std::string_view account_id, std::string_view page) {
  return std::string(dashboard_path) + "/" + std::string(account_id) + std::string(page);
}

std::vector<site::Link> side_of(std::string_view account_id, std::string_view here) {
  std::vector<site::Link> links;
  for (const Entry& entry : entries) {
    links.push_back({.label = std::string(entry.label),
                     .path = path_of(account_id, entry.page),
                     .is_here = entry.page == here});
  }
  return links;
}

}  // namespace turnpike::hosts::dashboard
