#include "app/services/people_services.h"

#include <algorithm>
#include <utility>

#include "app/stores.h"
#include "hosts/origins.h"

namespace turnpike::app {
namespace {

constexpr std::size_t secret_bytes = 32;

identity::RelyingParty site_of(const Config& config, const std::string& web_url) {
  const std::string origin = hosts::origin_of(web_url);
  const auto host = hosts::split_authority(hosts::authority_of(origin)).host;
  const std::string& configured = config.people.passkey_domain;
  return {configured.empty() ? std::string(host) : configured, origin};
}

// Returns why people with passkeys would be locked out; empty: they would not. Browsers offer a
// passkey only to the domain it was created for.
std::string why_passkeys_are_lost(storage::Node& node, const Config& config,
                                  const std::string& domain) {
  const auto stored = node.people().passkey_domains();
  if (!stored.ok()) return stored.error().message;
  const auto& former = config.people.former_passkey_domains;
  for (const std::string& one : *stored) {
    if (one == domain || std::find(former.begin(), former.end(), one) != former.end()) continue;
    return "passkeys are stored that are bound to " + one + ", and the web host is " + domain +
           " now, where no browser offers them: set hosts.web.base_url and identity.passkeys.rp_id "
           "back, or give these passkeys up with identity.passkeys.former_rp_ids: [" +
           one + "]";
  }
  return {};
}

std::unique_ptr<oauth::Server> make_authorization(storage::Node& node, const Config& config,
                                                  const std::string& web_url,
                                                  const PeopleServices::Sources& sources,
                                                  std::string key) {
  const OauthConfig& oauth = config.oauth;
  if (!oauth.is_enabled || web_url.empty() || sources.mcp_url.empty()) return nullptr;
  constexpr std::int64_t minute_ms = 60'000;
  constexpr std::int64_t day_ms = 24 * 60 * minute_ms;
  oauth::Server::Settings settings{.environment = config.environment,
                                   .issuer = sources.mcp_url,
                                   .consent_url = web_url + "/oauth/consent",
                                   .request_key = std::move(key)};
  settings.lifetimes.access_ms = oauth.access_minutes * minute_ms;
  settings.lifetimes.refresh_idle_ms = oauth.refresh_idle_days * day_ms;
  settings.lifetimes.grant_ms = oauth.refresh_absolute_days * day_ms;
  settings.takes_registrations = oauth.takes_registrations;
  settings.takes_documents = oauth.takes_documents;
  if (oauth.private_schemes) settings.redirects.private_schemes = *oauth.private_schemes;
  return std::make_unique<oauth::Server>(
      oauth::Server::Parts{node.grants(), node.audit(), sources.clock, sources.random},
      std::move(settings));
}

}  // namespace

Result<std::unique_ptr<PeopleServices>, std::string> PeopleServices::open(
    storage::Node& node, const Config& config, const std::string& web_url, const Sources& sources) {
  if (!web_url.empty()) {
    auto why = why_passkeys_are_lost(node, config, site_of(config, web_url).id);
    if (!why.empty()) return why;
  }
  auto page_tokens = node.secrets().get_or_create("page_tokens", secret_bytes);
  if (!page_tokens.ok()) return page_tokens.error().message;
  auto ceremonies = node.secrets().get_or_create("ceremonies", secret_bytes);
  if (!ceremonies.ok()) return ceremonies.error().message;
  auto requests = node.secrets().get_or_create("oauth_requests", secret_bytes);
  if (!requests.ok()) return requests.error().message;
  return std::unique_ptr<PeopleServices>(
      new PeopleServices(node, config, web_url, sources,
                         {*std::move(page_tokens), *std::move(ceremonies), *std::move(requests)}));
}

PeopleServices::PeopleServices(storage::Node& node, const Config& config,
                               const std::string& web_url, const Sources& sources, Secrets secrets)
    : sessions_(node.sessions(),
                {config.environment, session_limits(config), std::move(secrets.page_tokens)},
                sources.random),
      ceremonies_(std::move(secrets.ceremonies), sources.clock, sources.random),
      people_(node.people(), node.members(), config.environment, sources.random),
      tries_(node.audit()),
      password_tries_(node.audit(), identity::password_tries),
      sign_in_({.people = node.people(),
                .tries = tries_,
                .sessions = sessions_,
                .newcomers = people_,
                .ceremonies = ceremonies_,
                .site = site_of(config, web_url),
                .site_name = config.site.brand.name,
                .takes_strangers =
                    config.people.registration != identity::Registration::closed}),
      passwords_({.store = node.passwords(),
                  .people = node.people(),
                  .tries = password_tries_,
                  .sessions = sessions_,
                  .random = sources.random},
                 {.is_enabled = config.people.takes_passwords,
                  .bytes_min = config.people.password_bytes_min,
                  .cost = sources.password_cost,
                  .site_name = config.site.brand.name}),
      recovery_codes_({.store = node.recovery_codes(),
                       .tries = tries_,
                       .sessions = sessions_,
                       .random = sources.random}),
      external_sign_in_({.identities = node.external_identities(),
                         .tries = tries_,
                         .sessions = sessions_,
                         .newcomers = people_,
                         .ceremonies = ceremonies_,
                         .http = sources.http,
                         .clock = sources.clock},
                        config.people.providers, web_url),
      keys_(node.keys(), config.environment, sources.random, sources.key_revoked),
      accounts_(node.accounts(), starter_grant(config)),
      by_mail_({.mail = node.mail(),
                .sessions = sessions_,
                .tries = tries_,
                .newcomers = people_,
                .accounts = accounts_,
                .registration = config.people.registration,
                .sends_mail = config.mail.is_on()}),
      authorization_(make_authorization(node, config, web_url, sources, secrets.oauth_requests)),
      of_hosts_({.sessions = sessions_,
                 .sign_in = sign_in_,
                 .passwords = passwords_,
                 .recovery_codes = recovery_codes_,
                 .people = people_,
                 .person_store = node.people(),
                 .external_sign_in = external_sign_in_,
                 .external_identities = node.external_identities(),
                 .members = node.members(),
                 .audit = node.audit(),
                 .keys = keys_,
                 .accounts = accounts_,
                 .by_mail = by_mail_,
                 .grants = node.grants(),
                 .authorization = authorization_.get(),
                 .pool = sources.pool,
                 .processors = sources.processors,
                 .clock = sources.clock,
                 .web_url = web_url,
                 .clients = hosts::ClientAddress(config.trusted_proxies)}) {}

std::string local_web_url(std::string_view address) {
  if (address.empty()) return {};  // the host is not served
  const auto [host, port] = hosts::split_authority(address);
  const bool is_local = host == "127.0.0.1" || host == "[::1]" || host == "localhost";
  return "http://" + (is_local ? "localhost:" + std::string(port) : std::string(address));
}

std::string configured_web_url(const Config& config) {
  return config.web.base_url.empty() ? local_web_url(config.web.listen) : config.web.base_url;
}

identity::SessionLimits session_limits(const Config& config) {
  constexpr std::int64_t minute_ms = 60'000;
  return {.idle_ms = config.people.idle_minutes * minute_ms,
          .absolute_ms = config.people.absolute_hours * 60 * minute_ms,
          .step_up_ms = config.people.step_up_minutes * minute_ms};
}

}  // namespace turnpike::app
