#include "plugin/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "plugin/fixture_files.h"
#include "plugin/surroundings.h"

namespace turnpike::plugin {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Result<Catalog, std::vector<LoadError>> load(const CatalogOptions& options) {
  static Surroundings surroundings;
  return Catalog::load(options, surroundings.resources());
}

constexpr std::string_view rebuild =
    "; rebuild it with turnpike_add_plugin() of this gateway's installed package";

// The only problem of a directory with this broken plugin and a good one.
std::string start_error(std::string_view broken) {
  PluginDirectory directory;
  directory.add("good/echo.so");
  const auto file = directory.add(broken);
  const auto catalog = load({.directories = {directory.path()}});
  EXPECT_FALSE(catalog.ok()) << broken;
  if (catalog.ok()) return {};
  EXPECT_EQ(catalog.error().size(), 1u);
  EXPECT_EQ(catalog.error()[0].file, file.string());
  EXPECT_EQ(catalog.error()[0].text(), file.string() + ": " + catalog.error()[0].problem);
  return catalog.error()[0].problem;
}

TEST(Gates, EachBrokenPluginIsRefusedWithItsOwnMessage) {
  const std::string tail(rebuild);
  EXPECT_EQ(start_error("broken/no_symbol.so"),
            "does not export turnpike_plugin_v1, so it is no plugin; put TURNPIKE_PROVIDER or "
            "TURNPIKE_LANE into one source file and build it with turnpike_add_plugin()");
  EXPECT_EQ(start_error("broken/own_runtime.so"),
            "does not need libstdc++.so.6, so its allocator and exceptions would be its own; "
            "build it with turnpike_add_plugin() and without -static-libstdc++");
  EXPECT_EQ(start_error("broken/own_new.so"),
            "brings its own operator new or delete, so memory could not cross its boundary; "
            "remove it");
  EXPECT_THAT(start_error("broken/more_exports.so"),
              ::testing::AllOf(StartsWith("exports "),
                               HasSubstr(" besides turnpike_plugin_v1, which could replace a "
                                         "symbol of the gateway or of another plugin; build it "
                                         "with turnpike_add_plugin()")));
  EXPECT_EQ(start_error("broken/wrong_magic.so"),
            "has no Turnpike descriptor at turnpike_plugin_v1" + tail);
  EXPECT_EQ(start_error("broken/other_slot.so"),
            "names slot 7, which this gateway does not have" + tail);
  EXPECT_EQ(start_error("broken/wrong_abi.so"),
            "was built for plugin ABI 99, this gateway has 1" + tail);
  EXPECT_EQ(start_error("broken/wrong_size.so"),
            "has a descriptor of 64 bytes, this gateway's has " +
                std::to_string(sizeof(Descriptor)) + tail);
  EXPECT_EQ(start_error("broken/wrong_build.so"),
            "was built as \"gcc-11 of yesterday\", this gateway is \"" +
                std::string(build_fingerprint) + "\"" + tail);
  EXPECT_EQ(start_error("broken/no_slot.so"),
            "fills no slot; name at least one in its TURNPIKE_ macro");
  EXPECT_EQ(start_error("broken/slot_twice.so"), "fills the slot provider twice; name it once");
  EXPECT_EQ(start_error("broken/no_factory.so"),
            "has no factory for its slot provider; use the slot's TURNPIKE_ macro");
  EXPECT_EQ(start_error("broken/factory_throws.so"),
            "could not make its provider: the plugin threw: the store is gone");
  EXPECT_EQ(start_error("broken/factory_null.so"), "could not make its provider: it made nothing");
  EXPECT_EQ(start_error("broken/bad_offers.so"),
            "offers the intake \"Notes/\", which is no path of segments of a-z, 0-9, -, _ and ., "
            "the last of them or \"*\"");
  EXPECT_EQ(start_error("broken/foreign_code.so"),
            "its error code \"gateway.mine\" is not the lane's name, a dot and a word of a-z, 0-9 "
            "and _");
}

TEST(Gates, AMissingReferenceStopsTheStartAndNamesTheSymbol) {
  const std::string problem = start_error("broken/missing_reference.so");
  EXPECT_THAT(problem, StartsWith("cannot be loaded: "));
  EXPECT_THAT(problem, HasSubstr("turnpike_fixture_nobody_defines_this"));
}

TEST(Gates, FilesThatAreNoPluginsAtAll) {
  PluginDirectory directory;
  const auto problem_of = [&](std::string_view name) {
    const auto info = inspect(directory.path() / name);
    EXPECT_FALSE(info.ok());
    return info.ok() ? std::string() : info.error().problem;
  };
  std::ofstream(directory.path() / "text.so") << "#!/bin/sh\n";
  std::ofstream(directory.path() / "empty.so");
  std::filesystem::create_directory(directory.path() / "directory.so");
  const std::string no_elf =
      "is not an ELF file; plugins are shared objects built with turnpike_add_plugin()";
  EXPECT_EQ(problem_of("text.so"), no_elf);
  EXPECT_EQ(problem_of("empty.so"), no_elf);
  EXPECT_EQ(problem_of("directory.so"), "is not a regular file");
  EXPECT_EQ(problem_of("absent.so"), "cannot be opened: No such file or directory");
  std::filesystem::permissions(directory.path() / "text.so", std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(problem_of("text.so"), StartsWith("may be written by every user of this machine"));
}

TEST(Catalog, LoadsWhatLiesInTheDirectoryInOrderAndFindsItByName) {
  PluginDirectory directory;
  directory.add("good/unpaid_lane.so");
  directory.add("good/echo.so");
  std::ofstream(directory.path() / "README.md") << "not a plugin, and not looked at";
  const auto catalog = load({.directories = {directory.path()}});
  ASSERT_TRUE(catalog.ok()) << catalog.error()[0].text();
  ASSERT_EQ(catalog->plugins().size(), 2u);
  EXPECT_EQ(catalog->plugins()[0]->info().name, "echo");
  LoadedPlugin* echo = catalog->find("echo");
  ASSERT_NE(echo, nullptr);
  EXPECT_NE(echo->provider(), nullptr);
  EXPECT_EQ(echo->lane(), nullptr);
  LoadedPlugin* unpaid = catalog->find("unpaid");
  ASSERT_NE(unpaid, nullptr);
  ASSERT_NE(unpaid->lane(), nullptr);
  EXPECT_EQ(unpaid->lane()->traits().name, "unpaid");
  EXPECT_EQ(catalog->find("nobody"), nullptr);
}

TEST(Catalog, StrippedAndLinkTimeOptimizedPluginsAreAsGoodAsAny) {
  for (const char* name : {"treated/stripped.so", "treated/optimized.so"}) {
    PluginDirectory directory;
    directory.add(name);
    const auto catalog = load({.directories = {directory.path()}});
    ASSERT_TRUE(catalog.ok()) << catalog.error()[0].text();
    EXPECT_NE(catalog->find("plain"), nullptr);
  }
}

TEST(Catalog, RefusesTwoPluginsOfOneName) {
  PluginDirectory directory;
  directory.add("treated/stripped.so");
  const auto file = directory.add("broken/twin.so");
  const auto catalog = load({.directories = {directory.path()}});
  ASSERT_FALSE(catalog.ok());
  ASSERT_EQ(catalog.error().size(), 1u);
  EXPECT_EQ(catalog.error()[0].text(), file.string() + ": is named \"plain\", as is " +
                                           (directory.path() / "stripped.so").string() +
                                           "; remove one of them");
}

TEST(Catalog, TellsAllProblemsAtOnce) {
  PluginDirectory directory;
  directory.add("broken/wrong_abi.so");
  directory.add("broken/wrong_build.so");
  directory.add("broken/no_symbol.so");
  const auto catalog = load({.directories = {directory.path()}});
  ASSERT_FALSE(catalog.ok());
  EXPECT_EQ(catalog.error().size(), 3u);
}

TEST(Catalog, AMissingDirectoryIsSaidByName) {
  const auto catalog = load({.directories = {"/nowhere/plugins"}});
  ASSERT_FALSE(catalog.ok());
  EXPECT_EQ(catalog.error()[0].text(),
            "/nowhere/plugins: the plugin directory cannot be read: No such file or directory; see "
            "`plugins.directory`");
}

TEST(Catalog, ADirectoryThatAnybodyMayWriteIsRefused) {
  PluginDirectory directory;
  directory.add("good/echo.so");
  std::filesystem::permissions(directory.path(), std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const auto catalog = load({.directories = {directory.path()}});
  ASSERT_FALSE(catalog.ok());
  EXPECT_EQ(catalog.error()[0].text(),
            directory.path().string() +
                ": may be written by every user of this machine, who could then run code in the "
                "gateway; take that right away (chmod o-w)");
}

TEST(Catalog, PinsAreHeldExactly) {
  PluginDirectory directory;
  const auto file = directory.add("good/echo.so");
  const std::string digest = inspect(file)->sha256;
  const std::string other(64, '0');
  const auto pinned_to = [&](const std::string& name, const std::string& sha256) {
    return load({.directories = {directory.path()}, .pinned_sha256 = {{name, sha256}}});
  };
  EXPECT_TRUE(pinned_to("echo.so", digest).ok());

  const auto changed = pinned_to("echo.so", other);
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error()[0].problem, "has the SHA-256 " + digest + ", pinned is " + other +
                                            "; restore the file or change the pin");
  const auto unlisted = pinned_to("other.so", digest);
  ASSERT_FALSE(unlisted.ok());
  ASSERT_EQ(unlisted.error().size(), 2u);
  EXPECT_EQ(unlisted.error()[0].problem, "is not among the pinned plugins; add its SHA-256 " +
                                             digest + " to `plugins.sha256` or remove the file");
  EXPECT_EQ(unlisted.error()[1].problem,
            "is pinned in `plugins.sha256`, but is in none of the plugin directories");
}

// A plugin that is added after the start is loaded by the next reload, and nothing else changes.
TEST(Catalog, TakesWhatIsNewAndKeepsWhatItHas) {
  PluginDirectory directory;
  directory.add("good/echo.so");
  Surroundings surroundings;
  auto catalog = Catalog::load({.directories = {directory.path()}}, surroundings.resources());
  ASSERT_TRUE(catalog.ok());
  LoadedPlugin* const echo = catalog->find("echo");
  EXPECT_TRUE(catalog->take_new()->added.empty());

  directory.add("good/faulty.so");
  directory.add("good/unpaid_lane.so");
  auto taken = catalog->take_new();
  ASSERT_TRUE(taken.ok()) << taken.error()[0].text();
  ASSERT_EQ(taken->added.size(), 1u);
  EXPECT_EQ(taken->added[0], catalog->find("faulty"));
  EXPECT_EQ(catalog->find("echo"), echo);
  EXPECT_NE(taken->added[0]->guard().number(), echo->guard().number());
  ASSERT_EQ(taken->notes.size(), 1u);
  EXPECT_THAT(taken->notes[0],
              HasSubstr("the lane unpaid is new; lanes and processors, like their settings,"));
  EXPECT_TRUE(catalog->take_new()->added.empty());
}

TEST(Catalog, KeepsThePluginItHasWhenTheFileIsAnotherOneOrGone) {
  PluginDirectory directory;
  const auto file = directory.add("treated/stripped.so");
  Surroundings surroundings;
  auto catalog = Catalog::load({.directories = {directory.path()}}, surroundings.resources());
  ASSERT_TRUE(catalog.ok());
  LoadedPlugin* const plain = catalog->find("plain");
  std::filesystem::remove(file);
  directory.add("treated/optimized.so");
  const auto taken = catalog->take_new();
  ASSERT_TRUE(taken.ok()) << taken.error()[0].text();
  EXPECT_TRUE(taken->added.empty());
  ASSERT_EQ(taken->notes.size(), 1u);
  EXPECT_THAT(taken->notes[0], HasSubstr("the plugin plain is another one than at the start"));
  std::filesystem::remove(directory.path() / "optimized.so");
  EXPECT_TRUE(catalog->take_new()->notes.empty());
  EXPECT_EQ(catalog->find("plain"), plain);
}

TEST(Catalog, ABrokenNewFileIsRefusedAndTakesNothingWithIt) {
  PluginDirectory directory;
  directory.add("good/echo.so");
  Surroundings surroundings;
  auto catalog = Catalog::load({.directories = {directory.path()}}, surroundings.resources());
  ASSERT_TRUE(catalog.ok());
  directory.add("good/faulty.so");
  for (const char* broken : {"broken/wrong_abi.so", "broken/factory_throws.so"}) {
    const auto file = directory.add(broken);
    const auto taken = catalog->take_new();
    ASSERT_FALSE(taken.ok()) << broken;
    EXPECT_EQ(taken.error()[0].file, file.string());
    EXPECT_EQ(catalog->find("faulty"), nullptr);
    std::filesystem::remove(file);
  }
  EXPECT_EQ(catalog->take_new()->added.size(), 1u);
}

TEST(Catalog, ReadsSeveralDirectoriesAsOne) {
  PluginDirectory ours;
  PluginDirectory theirs;
  theirs.add("good/echo.so");
  ours.add("good/unpaid_lane.so");
  const auto both = load({.directories = {ours.path(), theirs.path()}});
  ASSERT_TRUE(both.ok()) << both.error()[0].text();
  ASSERT_EQ(both->plugins().size(), 2u);
  EXPECT_EQ(both->plugins()[0]->info().name, "echo");
  ours.add("good/echo.so");
  EXPECT_FALSE(load({.directories = {ours.path(), theirs.path()}}).ok());
  const auto missing = load({.directories = {"/nowhere/plugins", ours.path(), "/nowhere/else"}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().size(), 2u);
}

}  // namespace
}  // namespace turnpike::plugin
