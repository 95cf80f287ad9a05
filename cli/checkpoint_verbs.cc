#include "cli/checkpoint_verbs.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/report.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/tool/describe.h"
#include "common/checkpoint/tool/diff.h"
#include "common/checkpoint/tool/export.h"
#include "common/checkpoint/tool/import.h"
#include "common/checkpoint/tool/verify.h"
#include "common/version/version.h"
#include "jobs/registry.h"

namespace weir::cli {
namespace {

using Operands = std::span<const std::string>;

ReportFormat FormatOf(const CheckpointFlags& flags) {
  return flags.json ? ReportFormat::kJson : ReportFormat::kText;
}

int Print(const Report& report) {
  std::fputs(report.text.c_str(), stdout);
  return report.status.ok() ? 0 : Fail(report.status);
}

FlagTable ReportFlags(CheckpointFlags& values) {
  return {{"--json", "", "print JSON instead of a text", Switch(values.json)}};
}

FlagTable ExportFlags(CheckpointFlags& values) {
  return {{"--force", "", "replace FILE where it is there", Switch(values.force)}};
}

FlagTable ImportFlags(CheckpointFlags& values) {
  return {{"--step", "N", "the checkpoint's step",
           IntegerIn(values.step, 0, std::numeric_limits<std::uint64_t>::max()),
           "the file's metadata, else 0"},
          {"--convert", "", "take F16, BF16 and F64 too, as F32", Switch(values.convert)},
          {"--job", "NAME", "refuse a file that is not of this built-in job's model",
           Text(values.job), "no such check"}};
}

int List(Operands operands, const CheckpointFlags& flags) {
  return Print(DescribeModelDir(operands[0], FormatOf(flags)));
}

int Show(Operands operands, const CheckpointFlags& flags) {
  return Print(DescribeCheckpoint(operands[0], FormatOf(flags)));
}

int Verify(Operands operands, const CheckpointFlags& flags) {
  return Print(ReportOn(VerifyPath(operands[0]), FormatOf(flags)));
}

int Diff(Operands operands, const CheckpointFlags& flags) {
  const auto comparison = ComparePaths(operands[0], operands[1]);
  if (!comparison.ok()) return Fail(comparison.status());
  Print(ReportOn(*comparison, FormatOf(flags)));
  return comparison->differences.empty() ? 0 : 1;  // as diff(1)
}

int Export(Operands operands, const CheckpointFlags& flags) {
  const auto bytes = ExportCheckpoint(operands[0], operands[1],
                                      {.overwrite = flags.force, .weir_version = BuildVersion()});
  if (!bytes.ok()) return Fail(bytes.status());
  std::printf("%s: %llu bytes\n", operands[1].c_str(), static_cast<unsigned long long>(*bytes));
  return 0;
}

absl::StatusOr<Imported> ImportAs(Operands operands, const CheckpointFlags& flags) {
  ImportOptions options{
      .step = flags.step, .convert = flags.convert, .job = flags.job, .model = std::nullopt};
  if (!flags.job.empty()) {
    WEIR_ASSIGN_OR_RETURN(const ChosenJob chosen, CreateJob(flags.job));
    options.model = chosen.job->tensors();
  }
  return ImportSafetensors(operands[0], operands[1], options);
}

int Import(Operands operands, const CheckpointFlags& flags) {
  const auto imported = ImportAs(operands, flags);
  if (!imported.ok()) return Fail(imported.status());
  std::printf("%s: step %llu, %llu tensors, %lld parameters\n", imported->checkpoint.c_str(),
              static_cast<unsigned long long>(imported->step.value()),
              static_cast<unsigned long long>(imported->tensors),
              static_cast<long long>(imported->parameters));
  return 0;
}

}  // namespace

std::span<const CheckpointVerb> CheckpointVerbs() {
  static const auto* verbs = new std::vector<CheckpointVerb>{
      {"ls", {"MODEL_DIR"}, "the checkpoints of a model directory", ReportFlags, List},
      {"show", {"CKPT"}, "step, tensors and files of a checkpoint", ReportFlags, Show},
      {"verify",
       {"CKPT"},
       "read all of it against its checksums; CKPT may be a .safetensors file",
       ReportFlags,
       Verify},
      {"diff",
       {"A", "B"},
       "compare the tensors of two checkpoints or .safetensors files; exits 0 if they are equal, 1 "
       "if not",
       ReportFlags,
       Diff},
      {"export", {"CKPT", "FILE"}, "join it into one .safetensors file", ExportFlags, Export},
      {"import",
       {"FILE", "MODEL_DIR"},
       "make a .safetensors file a checkpoint that a job goes on from",
       ImportFlags,
       Import},
  };
  return *verbs;
}

}  // namespace weir::cli
