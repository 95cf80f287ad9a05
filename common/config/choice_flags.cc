#include "common/config/choice_flags.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/log_line.h"
#include "common/config/mistakes.h"

namespace weir {
namespace {

constexpr char kMissing[] = "not in this version";

absl::Status Mistake(const std::string& text) { return absl::InvalidArgumentError(text); }

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return absl::ascii_isdigit(c); });
}

// `name:N` with N at least `least`.
bool IsNumbered(absl::string_view text, absl::string_view name, std::uint32_t least) {
  std::uint32_t number = 0;
  return absl::ConsumePrefix(&text, name) && absl::ConsumePrefix(&text, ":") && IsDigits(text) &&
         absl::SimpleAtoi(text, &number) && number >= least;
}

absl::Status CheckMode(const std::string& mode) {
  if (mode == "async") return absl::OkStatus();
  if (IsNumbered(mode, "bounded", 0) || IsNumbered(mode, "sync", 1))
    return Mistake(absl::StrCat(mode, " is ", kMissing, "; it has async"));
  return Mistake(absl::StrCat(Quoted(mode),
                              " is not a mode; write async, bounded:S (S from 0) or "
                              "sync:N (N from 1)"));
}

absl::Status CheckOptimizer(const std::string& name) {
  if (name == "sgd") return absl::OkStatus();
  return Mistake(absl::StrCat(Quoted(name), " is ", kMissing, "; it has sgd"));
}

std::string TransportName(TransportChoice choice) {
  switch (choice) {
    case TransportChoice::kAuto:
      return "auto";
    case TransportChoice::kRequireRdma:
      return "require-rdma";
    case TransportChoice::kRdma:
      return "rdma";
    case TransportChoice::kTcp:
      return "tcp";
    case TransportChoice::kShm:
      return "shm";
  }
  return "auto";
}

absl::Status SetTransport(absl::string_view text, TransportChoice& target) {
  for (const TransportChoice choice :
       {TransportChoice::kAuto, TransportChoice::kRequireRdma, TransportChoice::kRdma,
        TransportChoice::kTcp, TransportChoice::kShm}) {
    if (text != TransportName(choice)) continue;
    target = choice;
    return absl::OkStatus();
  }
  return Mistake(absl::StrCat(Quoted(text),
                              " is not a transport; write auto, require-rdma, rdma, tcp or shm"));
}

absl::string_view FormatName(LogFormat format) {
  return format == LogFormat::kJson ? "json" : "text";
}

// Of a few, each with its name: `what` is "a log level", `names` "debug, info, ...".
template <typename Choice>
FlagValue OneOf(std::vector<Choice> choices, absl::string_view (*name_of)(Choice), Choice& target,
                absl::string_view what, absl::string_view names) {
  return {[=, &target](absl::string_view text) -> absl::Status {
            for (const Choice choice : choices) {
              if (text != name_of(choice)) continue;
              target = choice;
              return absl::OkStatus();
            }
            return Mistake(absl::StrCat(Quoted(text), " is not ", what, "; write ", names));
          },
          [name_of, &target] { return std::string(name_of(target)); }};
}

bool IsPort(absl::string_view text, std::uint32_t& port) {
  return IsDigits(text) && absl::SimpleAtoi(text, &port) && port >= 1 && port <= 65535;
}

bool IsDeviceName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](unsigned char c) { return absl::ascii_isgraph(c); });
}

}  // namespace

FlagValue TransportValue(TransportChoice& target) {
  return {[&target](absl::string_view text) { return SetTransport(text, target); },
          [&target] { return TransportName(target); }};
}

FlagValue LogLevelValue(LogLevel& target) {
  return OneOf({LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError},
               LogLevelName, target, "a log level", "debug, info, warning or error");
}

FlagValue LogFormatValue(LogFormat& target) {
  return OneOf({LogFormat::kText, LogFormat::kJson}, FormatName, target, "a log format",
               "text or json");
}

FlagValue ModeValue(std::string& target) { return Text(target, CheckMode); }

FlagValue OptimizerValue(std::string& target) { return Text(target, CheckOptimizer); }

FlagValue BackupsValue() {
  return Refused([](absl::string_view text) {
    if (text == "0") return absl::OkStatus();
    if (text == "1") return Mistake(absl::StrCat("1 is ", kMissing, "; write 0"));
    return Mistake(absl::StrCat(Quoted(text), " is not in 0..1"));
  });
}

FlagValue NotInThisVersion() {
  return Refused([](absl::string_view) { return Mistake(kMissing); });
}

absl::Status CheckPortRange(const std::string& text) {
  const std::vector<std::string> ends = absl::StrSplit(text, '-');
  std::uint32_t first = 0, last = 0;
  if (ends.size() == 2 && IsPort(ends[0], first) && IsPort(ends[1], last) && first <= last)
    return absl::OkStatus();
  return Mistake(absl::StrCat(Quoted(text),
                              " is not a range of ports; write A-B with 1 <= A <= B "
                              "<= 65535"));
}

absl::Status CheckDeviceList(const std::string& text) {
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    if (!IsDeviceName(name))
      return Mistake(absl::StrCat(Quoted(text),
                                  " is not a list of devices; write names with "
                                  "commas between, such as mlx5_0:1,eth0"));
  }
  return absl::OkStatus();
}

}  // namespace weir
