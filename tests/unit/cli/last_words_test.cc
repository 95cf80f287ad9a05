#include "cli/last_words.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "gtest/gtest.h"

namespace weir::cli {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

// What leaves a thread reaches nobody.
void ThrowFrom(void (*thrower)()) {
  InstallLastWords();
  std::thread(thrower).join();
}

void ThrowAnError() { throw std::runtime_error("no \x1b way"); }
void ThrowANumber() { throw 7; }

void Abort() {
  InstallLastWords();
  std::abort();
}

void AbortForACore() {
  setenv("WEIR_CORE", "1", 1);
  Abort();
}

TEST(LastWordsDeathTest, AnUncaughtExceptionEndsWithAPage) {
  EXPECT_EXIT(ThrowFrom(ThrowAnError), ExitedWithCode(1),
              "^weir: internal error: uncaught exception: no \\\\033 way\n[^\n]*bug[^\n]*\n"
              "[^\n]*WEIR_CORE=1[^\n]*\n$");
  EXPECT_EXIT(ThrowFrom(ThrowANumber), ExitedWithCode(1), "uncaught exception of an unknown kind");
}

TEST(LastWordsDeathTest, AnAbortEndsWithAPage) {
  EXPECT_EXIT(Abort(), ExitedWithCode(1), "^weir: internal error: aborted");
}

TEST(LastWordsDeathTest, ACoreDumpIsThereForThoseWhoAsk) {
  EXPECT_EXIT(AbortForACore(), KilledBySignal(SIGABRT), "^weir: internal error: aborted");
}

}  // namespace
}  // namespace weir::cli
