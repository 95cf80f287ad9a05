#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "doctor/check.h"

namespace weir::doctor {

/// Passes where the check has this verdict, the text in what it found, and a fix exactly when one
/// is due.
inline void ExpectCheck(const Check& check, Verdict verdict, const std::string& found) {
  EXPECT_EQ(VerdictName(check.verdict), VerdictName(verdict)) << check.name << ": " << check.found;
  EXPECT_THAT(check.found, testing::HasSubstr(found)) << check.name;
  EXPECT_EQ(check.fix.empty(), verdict == Verdict::kOk) << check.name << ": " << check.fix;
}

}  // namespace weir::doctor
