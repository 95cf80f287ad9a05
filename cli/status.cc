#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "chief/logic/member_id.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/status_arguments.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/environment.h"
#include "common/rpc/client.h"

namespace weir::cli {
namespace {

std::string AsJson(const wire::StatusReplyT& s) {
  nlohmann::json members = nlohmann::json::array();
  for (const auto& m : s.members) {
    if (!m || !m->member) continue;
    members.push_back({{"role", std::string(chief::RoleText(m->member->role))},
                       {"index", m->member->index},
                       {"pid", m->member->pid},
                       {"address", m->member->address},
                       {"state", m->member->state},
                       {"lease_left_ms", m->lease_left_ms},
                       {"last_step", m->last_step},
                       {"last_loss", m->last_loss},
                       {"steps_per_second", m->steps_per_second}});
  }
  return nlohmann::json{
             {"job", s.job},
             {"mode", s.mode},
             {"phase", s.phase},
             {"global_step", s.global_step},
             {"max_steps", s.max_steps},
             {"loss", s.loss},
             {"steps_per_second", s.steps_per_second},
             {"view", s.view},
             {"members", members},
             {"paths", s.paths},
             {"staleness",
              {{"p50", s.staleness_p50}, {"p99", s.staleness_p99}, {"max", s.staleness_max}}},
             {"last_checkpoint", s.last_checkpoint}}
             // Texts come from other processes: what is not UTF-8 is replaced, not thrown about.
             .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string AsTable(const wire::StatusReplyT& s) {
  std::string text = absl::StrFormat(
      "%s (%s), %s: step %d of %d, loss %.4f, %.1f steps/s, view %d, staleness p50 %d p99 %d max "
      "%d\n",
      s.job, s.mode, s.phase, s.global_step, s.max_steps, s.loss, s.steps_per_second, s.view,
      s.staleness_p50, s.staleness_p99, s.staleness_max);
  for (const auto& m : s.members) {
    if (!m || !m->member) continue;
    absl::StrAppendFormat(&text, "  %-10s %3d  %-8s pid %-8d %s\n",
                          std::string(chief::RoleText(m->member->role)), m->member->index,
                          m->member->state, m->member->pid, m->member->address);
  }
  for (const std::string& path : s.paths) absl::StrAppend(&text, "  ", path, "\n");
  if (!s.last_checkpoint.empty()) absl::StrAppend(&text, "  checkpoint ", s.last_checkpoint, "\n");
  return text;
}

absl::StatusOr<std::string> Ask(const StatusArguments& arguments) {
  WEIR_ASSIGN_OR_RETURN(const auto tls, rpc::TlsIdentity::Load(arguments.tls));
  const auto chief = rpc::ChiefClient::Create(
      {.address = arguments.chief, .peer = "chief", .token = arguments.token, .tls = tls});
  WEIR_ASSIGN_OR_RETURN(const wire::StatusReplyT status, chief->GetStatus(absl::Seconds(3)));
  return arguments.json ? AsJson(status) : AsTable(status);
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
  const auto text = Ask(*parsed);
  if (!text.ok()) return Fail(text.status());
  std::fputs(text->c_str(), stdout);
  return 0;
}

}  // namespace weir::cli
