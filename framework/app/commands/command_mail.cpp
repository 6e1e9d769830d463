// mail: what waits to be sent or was given up, another try for it, and whether the server takes
// mail at all.
#include "app/commands/command_database.h"
#include "app/services/mail_services.h"
#include "base/sources.h"
#include "text/time_text.h"
#include "text/words.h"

namespace turnpike::app {
namespace {

nlohmann::json to_json(const identity::Mail& mail) {
  return {{"id", mail.id},
          {"kind", name_of(mail.kind)},
          {"recipient", mail.recipient},
          {"state", name_of(mail.outcome)},
          {"tries", mail.tries},
          {"createdAt", text::rfc3339(mail.created_at_ms)},
          {"dueAt", text::rfc3339(mail.due_at_ms)},
          {"problem", mail.problem}};
}

std::string line_of(const identity::Mail& mail) {
  return mail.id + "  " + std::string(name_of(mail.outcome)) + "  " +
         std::string(name_of(mail.kind)) + "  " + mail.recipient + "  tried " +
         text::counted(mail.tries, "time") + "  " + mail.problem;
}

}  // namespace

int run_mail_list(const CommonOptions& options, const MailWords& words) {
  return with_database(options, [&](Tools& tools) {
    return print(
        options, tools.node.mail().list(words.all),
        [](const std::vector<identity::Mail>& mails) {
          nlohmann::json items = nlohmann::json::array();
          for (const identity::Mail& mail : mails) items.push_back(to_json(mail));
          return nlohmann::json{{"items", std::move(items)}};
        },
        [](const std::vector<identity::Mail>& mails) {
          std::string lines;
          for (const identity::Mail& mail : mails) {
            lines += (lines.empty() ? "" : "\n") + line_of(mail);
          }
          return lines.empty() ? std::string("none") : lines;
        });
  });
}

int run_mail_retry(const CommonOptions& options, const MailWords& words) {
  return with_database(options, [&](Tools& tools) {
    const auto due =
        tools.node.mail().retry(words.all ? "" : words.id, identity::operator_actor());
    if (due.ok() && *due == 0 && !words.all) {
      return print_failure(options, "no mail '" + words.id +
                                        "' waits or was given up; turnpike mail list shows them");
    }
    return print(
        options, due,
        [](std::int64_t many) { return nlohmann::json{{"due", many}}; },
        [](std::int64_t many) { 
          return text::counted(many, "mail") + (many == 1 ? " is" : " are") + " due now";
        });
  });
}

int run_mail_test(const CommonOptions& options, const MailWords& words) {
  const auto config = load_config(options);
  if (!config) return exit_failed;
  if (!config->mail.is_on()) return print_failure(options, "mail.smtp is not configured");
  const base::SystemClock clock;
  const std::string id = "test-" + std::to_string(clock.now_ms());
  const auto sent = mail_transport(*config, clock)
                        ->send({.id = id,
                                .to = words.to,
                                .subject = "A test of " + config->site.brand.name,
                                .text = "Mail of " + config->site.brand.name +
                                        " arrives here.\nNobody reads answers to this mail.\n"});
  if (!sent.ok()) return print_failure(options, sent.error().reason);
  std::cout << (options.json ? nlohmann::json{{"ok", true}}.dump()
                             : "the server took the mail to " + words.to)
            << '\n';
  return exit_done;
}

}  // namespace turnpike::app
