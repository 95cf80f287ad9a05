#include "runtime/stop_signal.h"

#include <gtest/gtest.h>

#include <csignal>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace weir {
namespace {

/// In a process of its own: the signal was received once and for all there.
void StopTwice(int first, int second) {
  StopSignal stop;
  Mutex mutex;
  CondVar changed;
  bool told = false;
  const StopSignal::Registration registration = stop.OnStop([&] {
    MutexLock lock(&mutex);
    told = true;
    changed.NotifyAll();
  });
  std::raise(first);
  const absl::Time give_up = MonotonicNow() + absl::Seconds(10);
  {
    MutexLock lock(&mutex);
    while (!told && MonotonicNow() < give_up) changed.WaitFor(&mutex, give_up - MonotonicNow());
    if (!told || StopSignal::exit_code() != 128 + first) std::_Exit(1);
  }
  std::raise(second);
  std::_Exit(2);  // survived the second signal
}

TEST(StopSignalDeathTest, TheSecondSignalEndsTheProcessWhicheverItIs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(StopTwice(SIGTERM, SIGTERM), testing::KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(StopTwice(SIGTERM, SIGINT), testing::KilledBySignal(SIGINT), "");
  EXPECT_EXIT(StopTwice(SIGINT, SIGTERM), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace weir
