#include "cli/status_arguments.h"

#include "absl/strings/str_cat.h"
#include "common/config/address.h"
#include "common/config/mistakes.h"
#include "common/config/token.h"
#include "common/config/token_flag.h"

namespace weir::cli {
namespace {

absl::Status CheckAddress(const std::string& text) { return ParseAddress(text).status(); }

constexpr absl::Duration kWatchEvery = absl::Seconds(1);

// Seconds as SecondsIn reads them; without any, every second.
FlagValue WatchValue(std::optional<absl::Duration>& target) {
  return {[&target](absl::string_view text) -> absl::Status {
            absl::Duration every = kWatchEvery;
            if (!text.empty()) {
              if (absl::Status status = SecondsIn(every, 0.1, 3600).set(text); !status.ok())
                return status;
            }
            target = every;
            return absl::OkStatus();
          },
          []() -> std::optional<std::string> { return std::nullopt; }, ValueKind::kNumber};
}

FlagTable StatusFlags(StatusArguments& arguments) {
  return {
      {"--chief", "HOST:PORT", "where the job's chief serves", Text(arguments.chief, CheckAddress)},
      {"--json", "", "one JSON object; with --watch, one a line", Switch(arguments.json)},
      {"--watch", "[SECONDS]", "again and again until the job ends; every second by default",
       WatchValue(arguments.watch)},
      {"--token-file", "FILE", "the cluster's token", TokenFileValue(arguments.token),
       absl::StrCat("the variable ", kTokenVariable)},
      {"--tls-cert", "FILE", "this process's certificate (PEM); TLS takes all three files",
       Text(arguments.tls.cert), "no TLS"},
      {"--tls-key", "FILE", "its private key", Text(arguments.tls.key), "no TLS"},
      {"--tls-ca", "FILE", "whom the chief's certificate must lead to", Text(arguments.tls.ca),
       "no TLS"},
  };
}

}  // namespace

absl::StatusOr<StatusArguments> ParseStatus(std::span<const std::string> arguments,
                                            const Environment& environment) {
  StatusArguments result;
  Mistakes mistakes;
  const ParsedFlags parsed = ParseFlags(arguments, StatusFlags(result), mistakes);
  result.help_requested = parsed.help_requested;
  if (result.help_requested) return result;
  for (const std::string& argument : parsed.positionals)
    mistakes.Add(Quoted(argument), "is no flag; weir status takes flags only");
  if (!parsed.given.contains("--chief"))
    mistakes.Add("--chief", "is missing; write --chief HOST:PORT, the chief's address");
  if (!parsed.given.contains("--token-file")) {
    absl::StatusOr<std::string> token = TokenOf(environment);
    if (token.ok()) {
      result.token = *std::move(token);
    } else {
      mistakes.Add(kTokenVariable, token.status().message());
    }
  }
  if (!mistakes.empty()) return mistakes.ToStatus("weir status");
  return result;
}

std::vector<FlagText> StatusFlagTexts() {
  StatusArguments defaults;
  return Describe(StatusFlags(defaults));
}

}  // namespace weir::cli
