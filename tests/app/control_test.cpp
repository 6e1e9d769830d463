#include "app/control.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "support/temporary.h"

namespace turnpike::app {
namespace {

class ControlTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return directory_.file("control.sock"); }

 private:
  const support::TemporaryDirectory directory_;
};

TEST_F(ControlTest, AnswersOneLineWithOneLine) {
  const ControlServer server(path(), [](const std::string& line) { return "got " + line; });
  EXPECT_EQ(ask_control(path(), "reload"), "got reload");
  EXPECT_EQ(ask_control(path(), std::string(1000, 'x')), "got " + std::string(1000, 'x'));
}

TEST_F(ControlTest, IsForItsOwnerAlone) {
  const ControlServer server(path(), [](const std::string& line) { return line; });
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ControlTest, LongAnswersArriveWholeAndLongQuestionsAreDropped) {
  const ControlServer server(path(), [](const std::string&) { return std::string(1 << 20, 'y'); });
  EXPECT_EQ(ask_control(path(), "q").size(), std::size_t{1} << 20);
  EXPECT_THROW((void)ask_control(path(), std::string(100'000, 'x')), std::system_error);
  EXPECT_EQ(ask_control(path(), "q").size(), std::size_t{1} << 20) << "and the next is served";
}

TEST_F(ControlTest, AnAnswerThatThrowsIsAProblemAndTheNextIsServed) {
  const ControlServer server(path(), [](const std::string& line) {
    if (line == "throw") throw std::runtime_error("no memory");
    return line;
  });
  EXPECT_EQ(ask_control(path(), "throw"), R"({"ok":false,"problems":[{"message":"no memory"}]})");
  EXPECT_EQ(ask_control(path(), "next"), "next");
}

TEST_F(ControlTest, StopsWithinItsDeadlineWhileACommandIsStuck) {
  runtime::Event begun;
  runtime::Event go_on;
  ControlServer server(path(), [&](const std::string&) {
    begun.set();
    go_on.wait(runtime::Deadline::never());
    return std::string();
  });
  server.post("reload");
  begun.wait(runtime::Deadline::never());
  EXPECT_FALSE(server.stop(runtime::Deadline::after_ms(1)));
  go_on.set();
  EXPECT_TRUE(server.stop(runtime::Deadline::never()));
}

TEST_F(ControlTest, WhatIsPostedRunsAfterTheCommandUnderWayAndOnceForMany) {
  runtime::Event begun;
  runtime::Event go_on;
  runtime::Event posted_ran;
  std::vector<std::string> ran;
  ControlServer server(path(), [&](const std::string& line) {
    ran.push_back(line);
    if (ran.size() == 1) {
      begun.set();
      go_on.wait(runtime::Deadline::never());
    } else {
      posted_ran.set();
    }
    return line;
  });
  server.post("first");
  begun.wait(runtime::Deadline::never());
  server.post("second");
  server.post("second");
  go_on.set();
  posted_ran.wait(runtime::Deadline::never());
  EXPECT_EQ(ask_control(path(), "asked"), "asked");
  EXPECT_TRUE(server.stop(runtime::Deadline::never()));
  EXPECT_EQ(ran, (std::vector<std::string>{"first", "second", "asked"}));
}

TEST_F(ControlTest, SaysThatNobodyListens) {
  try {
    (void)ask_control(path(), "reload");
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("no gateway answers at"), std::string::npos);
  }
}

TEST_F(ControlTest, TakesOverTheNameOfACrashedPredecessor) {
  {
    const ControlServer first(path(), [](const std::string& line) { return line; });
  }
  ASSERT_EQ(system(("touch " + path()).c_str()), 0);
  const ControlServer second(path(), [](const std::string& line) { return line; });
  EXPECT_EQ(ask_control(path(), "a"), "a");
}

}  // namespace
}  // namespace turnpike::app
