#include "app/services/mail_services.h"

namespace turnpike::app {
namespace {

mail::SmtpSettings smtp_settings(const Config& config) {
  const MailConfig& mail = config.mail;
  return {.host = mail.host,
          .port = static_cast<std::uint16_t>(mail.port),
          .security = mail.security,
          .user = mail.user,
          .password = mail.password,
          .sender = {config.site.brand.name, mail.from},
          .authorities = mail.authorities};
}

}  // namespace

MailServices::MailServices(const Config& config, identity::MailStore& store,
                           const std::string& web_url, const Sources& sources)
    : transport_(mail_transport(config, sources.clock)),
      postman_({.store = store,
                .transport = *transport_,
                .clock = sources.clock,
                .random = sources.random,
                .log = sources.log,
                .metrics = sources.metrics},
               {.environment = config.environment,
                .site = {config.site.brand.name, web_url},
                // One more minute for a slow name resolution.
                .lease_ms = mail::letter_ms_max(smtp_settings(config)) + 60'000}),
      thread_(postman_, *transport_, sources.log) {}

std::unique_ptr<mail::Transport> mail_transport(const Config& config, const Clock& clock) {
  return mail::make_smtp(smtp_settings(config), clock);
}

}  // namespace turnpike::app
