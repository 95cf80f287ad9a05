#include "ps_server/checkpoint_writer.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/checkpoint/shard_file_writer.h"
#include "common/checkpoint/shard_plan.h"

namespace weir::ps {
namespace {

wire::CheckpointDoneT DoneOf(const CheckpointWriter::Task& task,
                             const absl::StatusOr<ManifestFile>& written) {
  wire::CheckpointDoneT done;
  done.id = task.id;
  done.ok = written.ok();
  for (WorkerClock clock : task.snapshot.worker_clocks) done.worker_clocks.push_back(clock.value());
  if (!written.ok()) {
    done.error = std::string(written.status().message());
    return done;
  }
  done.file = written->file;
  done.file_bytes = written->bytes;
  for (const ManifestEntry& entry : written->entries) {
    auto copy = std::make_unique<wire::ShardFileEntryT>();
    copy->tensor = entry.tensor;
    copy->offset = static_cast<std::uint64_t>(entry.offset);
    copy->elements = static_cast<std::uint64_t>(entry.elements);
    copy->checksum = entry.checksum;
    done.entries.push_back(std::move(copy));
  }
  return done;
}

}  // namespace

CheckpointWriter::CheckpointWriter(const Layout& layout, ShardIndex shard, Release release,
                                   Done done)
    : layout_(layout),
      shard_(shard),
      release_(std::move(release)),
      done_(std::move(done)),
      thread_([this] { Run(); }) {}

CheckpointWriter::~CheckpointWriter() { Stop(); }

bool CheckpointWriter::TryStart(Task&& task) { return tasks_.TryPush(std::move(task)); }

void CheckpointWriter::Stop() {
  tasks_.Close();
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::Run() {
  while (auto task = tasks_.Pop()) done_(DoneOf(*task, Write(*task)));
}

absl::StatusOr<ManifestFile> CheckpointWriter::Write(const Task& task) {
  std::size_t next = 0;
  absl::StatusOr<ManifestFile> file = WriteBlocks(task, next);
  for (; next < task.snapshot.pins.size(); ++next) release_(task.snapshot.pins[next]);
  return file;
}

absl::StatusOr<ManifestFile> CheckpointWriter::WriteBlocks(const Task& task, std::size_t& next) {
  std::error_code error;
  std::filesystem::create_directory(task.folder, error);
  if (error) {
    return absl::InternalError(absl::StrCat("cannot make ", task.folder, ": ", error.message()));
  }
  WEIR_ASSIGN_OR_RETURN(
      ShardFileWriter writer,
      ShardFileWriter::Create(task.folder, ShardFileName(shard_, layout_.shards()),
                              PlanShardFile(layout_, shard_)));
  while (next < task.snapshot.pins.size()) {
    if (tasks_.closed()) return absl::CancelledError("this ps is stopping");
    const absl::Status written = writer.Append(next, task.snapshot.pins[next].values);
    release_(task.snapshot.pins[next++]);
    WEIR_RETURN_IF_ERROR(written);
  }
  return writer.Finish();
}

}  // namespace weir::ps
