#include "cli/terminal.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace wf::cli {
namespace {

using answer::TextColor;

class TerminalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv("NO_COLOR");
    ::setenv("TERM", "xterm", 1);
    ASSERT_EQ(::openpty(&ours_, &theirs_, nullptr, nullptr, nullptr), 0);
    ASSERT_EQ(::pipe(pipe_), 0);
  }
  void TearDown() override {
    for (const int descriptor : {ours_, theirs_, pipe_[0], pipe_[1]}) ::close(descriptor);
  }

  int ours_ = -1, theirs_ = -1;
  int pipe_[2] = {-1, -1};
};

TEST_F(TerminalTest, ColourIsForTerminals) {
  EXPECT_EQ(ColorOf("auto", theirs_), TextColor::kAnsi);
  EXPECT_EQ(ColorOf("auto", pipe_[1]), TextColor::kPlain);
}

TEST_F(TerminalTest, TheFlagDecidesWhateverIsThere) {
  EXPECT_EQ(ColorOf("always", pipe_[1]), TextColor::kAnsi);
  EXPECT_EQ(ColorOf("never", theirs_), TextColor::kPlain);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(ColorOf("always", theirs_), TextColor::kAnsi);
}

TEST_F(TerminalTest, NoColorAndDumbTerminalsAreHonoured) {
  ::setenv("NO_COLOR", "", 1);
  EXPECT_EQ(ColorOf("auto", theirs_), TextColor::kAnsi) << "empty counts as unset";
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(ColorOf("auto", theirs_), TextColor::kPlain);
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(ColorOf("auto", theirs_), TextColor::kPlain);
}

TEST_F(TerminalTest, WidthIsThatOfTheTerminalWithinLimits) {
  const int saved = ::dup(STDOUT_FILENO);
  const auto width_at = [&](unsigned short columns) {
    winsize size = {};
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(theirs_, TIOCSWINSZ, &size), 0);
    ::dup2(theirs_, STDOUT_FILENO);
    const size_t width = StyleOfOutput("auto").width;
    ::dup2(saved, STDOUT_FILENO);
    return width;
  };
  EXPECT_EQ(width_at(180), 180u);
  EXPECT_EQ(width_at(20), 40u);
  EXPECT_EQ(width_at(1000), 500u);
  EXPECT_EQ(width_at(0), 100u) << "unknown";
  ::dup2(pipe_[1], STDOUT_FILENO);
  const size_t piped = StyleOfOutput("auto").width;
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  EXPECT_EQ(piped, 100u);
}

}  // namespace
}  // namespace wf::cli
