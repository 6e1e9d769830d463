// The helpers that plugin authors compile into their plugins.
#include <turnpike/helpers/csv.h>
#include <turnpike/helpers/field_rules.h>
#include <turnpike/helpers/mistakes.h>
#include <turnpike/helpers/own_call.h>
#include <turnpike/helpers/private_address.h>
#include <turnpike/message.h>

#include <gtest/gtest.h>

#include "support/sdk_fakes.h"
#include "support/settings.h"
#include "text/http_field.h"

namespace turnpike {
namespace {

std::vector<std::string> lines_of(const Failure& failure) {
  std::vector<std::string> lines;
  for (const Mistake& each : split_mistakes(failure))
    lines.push_back(each.where + "|" + each.message);
  return lines;
}

using Lines = std::vector<std::string>;

TEST(CsvField, IsQuotedWhereRfc4180WantsIt) {
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("plain text; 'x'"), "plain text; 'x'");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field("\""), "\"\"\"\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
}

TEST(CsvField, IsNoFormula) {
  for (const std::string text : {"=1", "+1", "-1+2", "-", "@sum", "\tx", "-1.5", "=", "-0x1"}) {
    EXPECT_EQ(csv_field(text), "'" + text);
  }
  EXPECT_EQ(csv_field("\rx"), "\"'\rx\"");
  EXPECT_EQ(csv_field("=HYPERLINK(\"x\",1)"), "\"'=HYPERLINK(\"\"x\"\",1)\"");
  for (const std::string text : {"-1", "0", "12", "-9007199254740993", "a=b", " =1", "'=1"}) {
    EXPECT_EQ(csv_field(text), text);
  }
}

// The author of the YAML sees all mistakes at once.
TEST(Mistakes, CrossInOneFailureAndAreTakenApartAgain) {
  const Settings settings =
      map({{"n", scalar("x")}, {"pth", scalar("1")}, {"b", scalar("no")}, {"odd", scalar("")}});
  Mistakes mistakes;
  EXPECT_TRUE(mistakes.done().ok());
  mistakes.only(settings, {"n", "b", "path"});
  EXPECT_EQ(mistakes.take(settings.integer("n", 2, 0, 5), std::int64_t{2}), 2);
  EXPECT_EQ(mistakes.take(settings.integer("m", 3, 0, 5)), 3);
  EXPECT_TRUE(mistakes.take(settings.boolean("b", true), true));
  ASSERT_FALSE(mistakes.none());
  const Failure failure = mistakes.failure();
  EXPECT_EQ(failure.kind, FailureKind::invalid_settings);
  EXPECT_EQ(failure.where, "pth");
  EXPECT_EQ(lines_of(failure),
            (Lines{"pth|unknown key; did you mean `path`?", "odd|unknown key",
                   "n|expected an integer from 0 to 5", "b|expected true or false"}));
}

TEST(Mistakes, OfAPartHaveTheWholePath) {
  Mistakes part;
  part.add("a", "is wrong");
  part.add("", "is short");
  part.add("[1]", "is long");
  Mistakes whole;
  whole.note(part.done(), "list");
  whole.add(Failure{FailureKind::invalid_settings, "expected a path", "path", false},
            of_operation(3));
  EXPECT_EQ(lines_of(whole.failure()), (Lines{"list.a|is wrong", "list|is short", "list[1]|is long",
                                              "operations[3].path|expected a path"}));
}

TEST(Mistakes, KeysAndTextsOfTheAuthorDivideNothing) {
  Mistakes mistakes;
  mistakes.add("a: b", "one\ntwo: three");
  mistakes.add("c\nd: e", "four: five");
  EXPECT_EQ(lines_of(mistakes.failure()), (Lines{"a:b|one two: three", "c d:e|four: five"}));
}

TEST(Mistakes, AFailureOfOneIsAsItEverWas) {
  const Failure one{FailureKind::invalid_settings, "expected an URL", "base_url", false};
  EXPECT_EQ(lines_of(one), Lines{"base_url|expected an URL"});
  EXPECT_EQ(lines_of({FailureKind::invalid_settings, "", "", false}), Lines{"|"});
  Mistakes none;
  none.only(Settings(), {"a"});
  EXPECT_TRUE(none.none());
  none.only(scalar("x"), {"a"});
  EXPECT_EQ(lines_of(none.failure()), Lines{"|expected a map"});
}

TEST(PrivateAddress, IsWhatAUrlItselfTells) {
  for (const char* near :
       {"http://127.0.0.1:8402", "https://10.1.2.3/v2", "http://[::1]:80/", "http://192.168.0.1",
        "https://[fd00::1]", "http://localhost:9", "http://LOCALHOST", "http://api.localhost/",
        "http://172.31.255.255", "http://169.254.169.254/latest", "http://100.64.0.1",
        "http://0.0.0.0"}) {
    EXPECT_TRUE(names_private_address(near)) << near;
  }
  for (const char* far :
       {"https://api.example.com", "http://8.8.8.8", "https://[2606:4700::1]",
        "https://mylocalhost", "https://localhost.example", "http://172.32.0.1", "http://1.2.3",
        "http://1.2.3.4.5", "http://256.1.1.1", "not a url", ""}) {
    EXPECT_FALSE(names_private_address(far)) << far;
  }
}

TEST(FramingFields, AreOfTheHopInAnyCase) {
  for (const std::string_view name :
       {"Connection", "content-length", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
        "transfer-encoding", "UPGRADE"}) {
    EXPECT_TRUE(is_framing_field(name)) << name;
    EXPECT_FALSE(is_framing_field(name.substr(1))) << name;
    EXPECT_FALSE(is_framing_field(std::string(name) + "s")) << name;
  }
  for (const std::string_view name : {"", "Host", "Date", "Content-Type", "Proxy-Authorization"}) {
    EXPECT_FALSE(is_framing_field(name)) << name;
  }
}

TEST(FieldRules, NamesAreTokensAndValuesHoldNoControls) {
  EXPECT_TRUE(is_token("X-Api_Key.v1!#$%&'*+^`|~"));
  for (const std::string_view text : {"", "a b", "a:", "a\n", "a\t", "\"a\"", "(a)", "\xc3\xa9"}) {
    EXPECT_FALSE(is_token(text)) << text;
  }
  for (const std::string_view text : {"", "a b", "a\tb", "\xc3\xa9", "\x80\xff"}) {
    EXPECT_TRUE(is_field_value(text)) << text;
  }
  for (const std::string_view text : {"a\r", "a\nb", "\x7f", "\x1f", "\x01"}) {
    EXPECT_FALSE(is_field_value(text)) << text;
  }
  EXPECT_FALSE(is_field_value(std::string_view("a\0b", 3)));
}

// The gateway has these rules in a faster form, which plugins cannot include: a setting that a
// plugin takes must not be a field that the gateway refuses.
TEST(FieldRules, AreThoseOfTheGateway) {
  for (int byte = 0; byte < 256; ++byte) {
    for (std::size_t length = 1; length <= 17; ++length) {
      for (std::size_t place = 0; place < length; ++place) {
        std::string text(length, 'a');
        text[place] = static_cast<char>(byte);
        ASSERT_EQ(is_token(text), text::is_field_name(text)) << byte << " at " << place;
        ASSERT_EQ(is_field_value(text), text::is_field_value(text)) << byte << " at " << place;
      }
    }
  }
  EXPECT_EQ(is_token(""), text::is_field_name(""));
  EXPECT_EQ(is_field_value(""), text::is_field_value(""));
}

// The call that commands of lanes pass to the store.
TEST(OwnCall, HasADeadlineOfItsOwnAndNobodyCancelsIt) {
  support::ManualClock clock;
  OwnCall call(clock, 20);
  EXPECT_EQ(call.deadline_ns(), clock.monotonic_ns() + 20'000'000);
  EXPECT_FALSE(call.cancelled());
  EXPECT_EQ(call.request_id(), "");
  EXPECT_TRUE(call.sleep_ms(1));
  clock.move_ms(20);
  EXPECT_FALSE(call.sleep_ms(60'000)) << "and at once, since the deadline has passed";
}

}  // namespace
}  // namespace turnpike
