#include "plugin/offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/call_by_hand.h"
#include "plugin/catalog.h"
#include "plugin/fixture_files.h"
#include "plugin/surroundings.h"

namespace turnpike::plugin {
namespace {

using ::testing::HasSubstr;

std::string problem_of_path(std::string_view path) {
  const IntakePath row{.path = path};
  return problem_of_offers({.intake = {&row, 1}});
}

TEST(Offers, APathOfTheIntakeIsPlainSegmentsAndPerhapsAStarAtTheEnd) {
  for (const char* path : {"webhook", "a/b_c/d-1.2", "orders/*", "*"}) {
    EXPECT_EQ(problem_of_path(path), "") << path;
  }
  for (const char* path : {"", "/", "/a", "a/", "a//b", "A", "a b", "a%2Fb", "*/a", "a*", "..",
                           "a/../b", ".", "a?b", "{id}"}) {
    EXPECT_THAT(problem_of_path(path), HasSubstr("which is no path of segments")) << path;
  }
}

TEST(Offers, TellsWhatElseIsWrongWithADeclaration) {
  const IntakePath deaf{.path = "a", .takes_get = false, .takes_post = false};
  EXPECT_EQ(problem_of_offers({.intake = {&deaf, 1}}),
            "offers the intake \"a\", which takes neither GET nor POST");
  const IntakePath greedy{.path = "a", .body_bytes_max = intake_body_bytes_max + 1};
  EXPECT_EQ(problem_of_offers({.intake = {&greedy, 1}}),
            "offers the intake \"a\", whose bodies may be longer than 1048576 bytes");
  for (const std::string_view path : {"/keys.json", "/.well-known/", "/.well-known/a/b"}) {
    EXPECT_THAT(problem_of_offers({.documents = {&path, 1}}), HasSubstr("offers the document"))
        << path;
  }
}

TEST(Offers, FindsTheFirstRowThatFitsAPath) {
  constexpr IntakePath rows[] = {{.path = "orders/new"}, {.path = "orders/*"}, {.path = "hook"}};
  const auto index_of = [&](std::string_view path) -> std::ptrdiff_t {
    const IntakePath* row = find_intake(rows, path);
    return row == nullptr ? -1 : row - rows;
  };
  EXPECT_EQ(index_of("orders/new"), 0);
  EXPECT_EQ(index_of("orders/42"), 1);
  EXPECT_EQ(index_of("hook"), 2);
  for (const char* path : {"", "orders", "orders/", "orders/4/2", "hook/", "hooks", "Hook"}) {
    EXPECT_EQ(index_of(path), -1) << path;
  }
}

TEST(Offers, AnAnswerOfThePluginIsHeldToTheInterface) {
  EXPECT_EQ(problem_of_reply({}), "");
  EXPECT_EQ(problem_of_reply({.status = 303, .headers = {{"Location", "/paid"}}}), "");
  EXPECT_EQ(problem_of_reply({.status = 600}), "it answered a status outside 200 to 599");
  EXPECT_EQ(problem_of_reply({.status = 100}), "it answered a status outside 200 to 599");
  EXPECT_EQ(problem_of_reply({.status = 204, .body = "x"}), "it answered 204 with a body");
  EXPECT_EQ(problem_of_reply({.headers = {{"X-A", "a\r\nb"}}}),
            "it answered with a header field with forbidden bytes");
  EXPECT_EQ(problem_of_reply({.headers = {{"set-cookie", "a=b"}}}),
            "it answered with the header field set-cookie, which a plugin may not send");
  EXPECT_EQ(problem_of_reply({.body = std::string(intake_reply_bytes_max + 1, 'x')}),
            "its answer is longer than 1048576 bytes");
}

// The fixture with two slots, behind its guard.
class MailboxTest : public ::testing::Test {
 protected:
  MailboxTest() {
    directory_.add("good/mailbox.so");
    auto loaded = Catalog::load({.directories = {directory_.path()}}, surroundings_.resources());
    if (loaded.ok()) catalog_.emplace(*std::move(loaded));
  }
  void SetUp() override {
    ASSERT_TRUE(catalog_.has_value());
    mailbox_ = catalog_->find("mailbox");
    ASSERT_NE(mailbox_, nullptr);
    auto bound = mailbox_->provider()->bind({"u", settings_, {}}, mailbox_->host());
    ASSERT_TRUE(bound.ok());
    upstream_ = *std::move(bound);
  }
  Result<IntakeReply> post(std::string_view body) {
    CallByHand call;
    return upstream_->receive({.method = Method::post, .path = "notes", .body = body}, call);
  }

  PluginDirectory directory_;
  Surroundings surroundings_;
  const Settings settings_;
  std::optional<Catalog> catalog_;
  LoadedPlugin* mailbox_ = nullptr;
  std::unique_ptr<Upstream> upstream_;
};

TEST_F(MailboxTest, FillsBothItsSlotsWhichShareTheStore) {
  ASSERT_NE(mailbox_->lane(), nullptr);
  EXPECT_EQ(mailbox_->slot_objects().size(), 2u);
  ASSERT_TRUE(post("a note").ok());
  auto lane = mailbox_->lane()->bind({{}, settings_, {}, {}}, mailbox_->host());
  ASSERT_TRUE(lane.ok());
  CallByHand call;
  const auto document = (*lane)->document("/.well-known/mailbox.json", call);
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->value_or(Document{}).body, "a note");
}

TEST_F(MailboxTest, ItsCommandIsFoundByItsWord) {
  const auto place = catalog_->find_command("mailbox");
  EXPECT_EQ(place.plugin, mailbox_);
  EXPECT_EQ(place.object, mailbox_->lane());
  EXPECT_EQ(catalog_->find_command("nobody").plugin, nullptr);
}

TEST_F(MailboxTest, WhatItsIntakeThrowsOrAnswersWrongIsAFaultWithItsName) {
  const auto thrown = post("throw");
  ASSERT_FALSE(thrown.ok());
  EXPECT_EQ(thrown.error().kind, FailureKind::plugin_fault);
  EXPECT_EQ(thrown.error().message, "plugin mailbox: the plugin threw: a note too many");
  const auto wrong = post("status");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "plugin mailbox: it answered a status outside 200 to 599");
  EXPECT_THAT(
      surroundings_.metrics->text(),
      HasSubstr(R"(turnpike_guard_failures_total{kind="plugin_fault",plugin="mailbox"} 2)"));
  EXPECT_THAT(surroundings_.log.lines(), HasSubstr("a note too many"));
  EXPECT_EQ(post("away").error().kind, FailureKind::unavailable);
}

// The twin differs only in its name, so it would publish the same document and run the same
// command.
TEST(Catalog, RefusesTwoPluginsThatOfferTheSame) {
  PluginDirectory directory;
  directory.add("good/mailbox.so");
  const auto twin = directory.add("broken/mailbox_twin.so");
  Surroundings surroundings;
  const auto catalog = Catalog::load({.directories = {directory.path()}}, surroundings.resources());
  ASSERT_FALSE(catalog.ok());
  const std::string first = (directory.path() / "mailbox.so").string();
  ASSERT_EQ(catalog.error().size(), 2u);
  EXPECT_EQ(catalog.error()[0].text(), twin.string() + ": offers the command mailbox, as does " +
                                           first + "; remove one of them");
  EXPECT_EQ(catalog.error()[1].text(),
            twin.string() + ": offers the document /.well-known/mailbox.json, as does " + first +
                "; remove one of them");
}

}  // namespace
}  // namespace turnpike::plugin
