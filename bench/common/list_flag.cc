#include "bench/common/list_flag.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/mistakes.h"

namespace weir::bench {

FlagValue ListOf(std::vector<int>& target, int least, int most) {
  return {[&target, least, most](absl::string_view text) -> absl::Status {
            std::vector<int> numbers;
            for (const absl::string_view part : absl::StrSplit(text, ',')) {
              int number = 0;
              if (!absl::SimpleAtoi(part, &number) || number < least || number > most) {
                return absl::InvalidArgumentError(
                    absl::StrCat("is ", Quoted(text), "; write numbers from ", least, " to ", most,
                                 " with commas between"));
              }
              numbers.push_back(number);
            }
            target = std::move(numbers);
            return absl::OkStatus();
          },
          [&target]() -> std::optional<std::string> { return absl::StrJoin(target, ","); }};
}

}  // namespace weir::bench
