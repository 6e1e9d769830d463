#include "app/stores.h"

namespace turnpike::app {

storage::Settings storage_settings(const Config& config) {
  storage::Settings settings;
  settings.engine =
      config.engine == Engine::sqlite ? storage::Engine::sqlite : storage::Engine::postgres;
  settings.data_dir = config.data_dir;
  settings.sqlite_path = config.sqlite_path;
  settings.postgres_url = config.postgres_url;
  settings.is_durability_relaxed = config.is_durability_relaxed;
  settings.sends_mail = config.mail.is_on();
  settings.sign_in.takes_passwords = config.people.takes_passwords;
  settings.sign_in.former_passkey_domains = config.people.former_passkey_domains;
  settings.sign_in.issuers.emplace();
  for (const auto& provider : config.people.providers) {
    settings.sign_in.issuers->push_back(provider.issuer);
  }
  return settings;
}

identity::StarterGrant starter_grant(const Config& config) {
  if (!config.starter_grant) return {.units = 0};
  constexpr std::int64_t day_ms = 24ll * 60 * 60 * 1000;
  return {.units = config.starter_grant_credits,
          .valid_ms = config.starter_grant_days * day_ms,
          .needs_owner = config.starter_grant_needs_owner};
}

Result<std::unique_ptr<storage::Node>, std::string> open_node(const Config& config,
                                                              storage::Role role,
                                                              const Clock& clock, Random& random) {
  const storage::Settings settings = storage_settings(config);
  if (config.migrate_at_start) {
    auto migrated = storage::migrate(settings, clock, false);
    if (!migrated.ok()) return std::move(migrated).error();
  }
  return storage::Node::open(settings, role, {.clock = clock, .random = random},
                             config.migrate_at_start);
}

}  // namespace turnpike::app
