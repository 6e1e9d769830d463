// The file format of a checkpoint.
#include "ledger/audit/checkpoint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/canonical_json.h"
#include "text/encoding.h"

namespace turnpike::ledger {
namespace {

Checkpoint example_checkpoint() {
  Checkpoint books;
  books.at_ms = 1'800'000'000'123;
  books.streams = {{64, 7, std::string(64, 'a')}, {128, 9'007'199'254'740'993, ""}};
  books.totals = {"", 10, 1, 2, 3, 4, 0};
  return books;
}
const crypto::Ed25519Seed seed{1, 2, 3};

Result<Checkpoint, std::string> read(const std::string& text) {
  return read_checkpoint(text, crypto::ed25519_public_key(seed));
}

TEST(Checkpoint, IsReadAsItWasWritten) {
  const auto books = read(write_checkpoint(example_checkpoint(), seed));
  ASSERT_TRUE(books.ok()) << books.error();
  EXPECT_EQ(books->at_ms, example_checkpoint().at_ms);
  ASSERT_EQ(books->streams.size(), 2u);
  EXPECT_EQ(books->streams[1].seq, 9'007'199'254'740'993);  // not representable as a double
  EXPECT_EQ(books->streams[0].head, std::string(64, 'a'));
  EXPECT_EQ(books->totals.charged, 3);
  EXPECT_EQ(books->totals.expired, 4);
}

TEST(Checkpoint, IsSignedOverWhatItSays) {
  auto file = nlohmann::json::parse(write_checkpoint(example_checkpoint(), seed));
  ASSERT_TRUE(read(file.dump(2)).ok()) << "blanks are not part of it";
  file["checkpoint"]["totals"]["charged"] = "2";
  EXPECT_EQ(read(file.dump()).error(),
            "the checkpoint was not signed by this key, or changed afterwards");
  EXPECT_FALSE(
      read_checkpoint(write_checkpoint(example_checkpoint(), {9}), crypto::ed25519_public_key(seed))
          .ok());
}

TEST(Checkpoint, WhatIsSignedMustStillHaveItsForm) {
  auto object = nlohmann::json::parse(write_checkpoint(example_checkpoint(), seed))["checkpoint"];
  const auto signed_again = [&](const nlohmann::json& changed) {
    const auto signature = crypto::ed25519_sign(seed, *text::canonical_json(changed));
    const std::string bytes(signature.begin(), signature.end());
    return read(
        nlohmann::json{{"checkpoint", changed}, {"signature", text::base64url(bytes)}}.dump());
  };
  ASSERT_TRUE(signed_again(object).ok());
  const auto without = [&](const char* key, const nlohmann::json& value) {
    auto changed = object;
    changed[key] = value;
    return signed_again(changed).ok();
  };
  EXPECT_FALSE(without("form", "turnpike.checkpoint.2"));
  EXPECT_FALSE(without("at", "yesterday"));
  EXPECT_FALSE(without("totals", nlohmann::json::array()));
  EXPECT_FALSE(without("streams", "none"));
  EXPECT_FALSE(without("streams", {{{"stream", "1x"}, {"seq", "1"}, {"hash", ""}}}));
}

TEST(Checkpoint, AnythingElseIsRefusedWithASentence) {
  for (const char* text : {"", "{}", "[]", "null", "{\"checkpoint\":{}}",
                           "{\"checkpoint\":{},\"signature\":\"AA\"}", "{\"checkpoint\":"}) {
    EXPECT_FALSE(read(text).ok()) << text;
  }
}

}  // namespace
}  // namespace turnpike::ledger
