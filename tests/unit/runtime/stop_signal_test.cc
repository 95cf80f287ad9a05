#include "runtime/stop_signal.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "common/base/bounded_queue.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

// Each in a process of its own: what a signal did to one stays.
class StopSignalTest : public ::testing::Test {
 protected:
  StopSignalTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void ExitOnceStopped(int number) {
  StopSignal stop;
  BoundedQueue<int> calls(1);
  const StopSignal::Registration registration = stop.OnStop([&calls] { calls.TryPush(1); });
  std::raise(number);
  std::_Exit(calls.Pop().has_value() && StopSignal::received() ? 0 : 1);
}

void RaiseBoth(int first, int second) {
  StopSignal stop;
  std::raise(first);
  std::raise(second);
}

TEST_F(StopSignalTest, FirstSignalIsOneCall) {
  EXPECT_EXIT(ExitOnceStopped(SIGTERM), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ExitOnceStopped(SIGINT), ::testing::ExitedWithCode(0), "");
}

TEST_F(StopSignalTest, SecondSignalEndsTheProcess) {
  EXPECT_EXIT(RaiseBoth(SIGTERM, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(RaiseBoth(SIGINT, SIGINT), ::testing::KilledBySignal(SIGINT), "");
}

TEST_F(StopSignalTest, SecondSignalMayBeTheOtherOne) {
  EXPECT_EXIT(RaiseBoth(SIGTERM, SIGINT), ::testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(RaiseBoth(SIGINT, SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

TEST_F(StopSignalTest, CallbackRegisteredAfterTheSignalIsCalled) {
  const auto late = [] {
    StopSignal stop;
    std::raise(SIGTERM);
    BoundedQueue<int> calls(1);
    const StopSignal::Registration registration = stop.OnStop([&calls] { calls.TryPush(1); });
    std::_Exit(calls.Pop().has_value() ? 0 : 1);
  };
  EXPECT_EXIT(late(), ::testing::ExitedWithCode(0), "");
}

TEST_F(StopSignalTest, ErrnoOfTheInterruptedCodeStays) {
  const auto interrupted = [] {
    StopSignal stop;
    errno = ENOENT;
    std::raise(SIGTERM);
    std::_Exit(errno == ENOENT ? 0 : 1);
  };
  EXPECT_EXIT(interrupted(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir
