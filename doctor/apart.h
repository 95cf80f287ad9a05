#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "doctor/check.h"

namespace weir::doctor {

/// Runs `examine` in a process of its own and returns its checks: what it calls may hang or crash,
/// as drivers do, without taking the doctor along. Then the one check, a fail called `name`, says
/// so. Returns within `limit`, but for the moment it takes to start a process.
/// Threading: no other thread may run, since the new process has only this one.
std::vector<Check> ExamineApart(const std::string& name, absl::Duration limit,
                                const std::function<std::vector<Check>()>& examine);

}  // namespace weir::doctor
