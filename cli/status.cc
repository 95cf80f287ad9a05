#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/status_arguments.h"
#include "cli/status_view.h"
#include "cli/status_watch.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/rpc/client.h"

namespace weir::cli {
namespace {

absl::StatusOr<std::string> Ask(const StatusArguments& arguments) {
  WEIR_ASSIGN_OR_RETURN(const auto tls, rpc::TlsIdentity::Load(arguments.tls));
  const auto chief = rpc::ChiefClient::Create(
      {.address = arguments.chief, .peer = "chief", .token = arguments.token, .tls = tls});
  WEIR_ASSIGN_OR_RETURN(const wire::StatusReplyT status, chief->GetStatus(absl::Seconds(3)));
  return arguments.json ? StatusJson(status, JsonLayout::kIndented) : StatusTable(status);
}

}  // namespace

int Status(std::span<const std::string> arguments) {
  StartLogging("status", LogLevel::kInfo);
  const auto parsed = ParseStatus(arguments, ProcessEnvironment());
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->help_requested) {
    std::fputs(HelpOf("status").c_str(), stdout);
    return 0;
  }
  if (parsed->watch.has_value()) {
    const auto code = WatchStatus(*parsed);
    return code.ok() ? *code : Fail(code.status());
  }
  const auto text = Ask(*parsed);
  if (!text.ok()) return Fail(text.status());
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace weir::cli
