#include "worker/client/one_sided_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace weir {
namespace {

// Up to here the header and the words are fetched as one.
constexpr std::size_t kOneGetBytes = 4096;

}  // namespace

absl::StatusOr<std::unique_ptr<OneSidedReader>> OneSidedReader::Create(
    net::Transport& transport, std::unique_ptr<net::RemoteMemory> memory, ShardIndex shard,
    std::size_t blocks, Incarnation incarnation, Done done) {
  const std::size_t copy_bytes = arena::SlotsOffset(blocks);
  if (memory->size() < copy_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory of ", memory->size(), " bytes is no arena of ", blocks, " blocks"));
  }
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<net::Memory> scratch, transport.Allocate(2 * copy_bytes));
  return std::unique_ptr<OneSidedReader>(new OneSidedReader(transport, std::move(memory), shard,
                                                            blocks, incarnation, std::move(scratch),
                                                            std::move(done)));
}

OneSidedReader::OneSidedReader(net::Transport& transport, std::unique_ptr<net::RemoteMemory> memory,
                               ShardIndex shard, std::size_t blocks, Incarnation incarnation,
                               std::unique_ptr<net::Memory> scratch, Done done)
    : transport_(transport),
      memory_(std::move(memory)),
      shard_(shard),
      blocks_(blocks),
      incarnation_(incarnation),
      copy_bytes_(arena::SlotsOffset(blocks)),
      scratch_(std::move(scratch)),
      done_(std::move(done)) {}

bool OneSidedReader::Start() {
  if (phase_ != Phase::kIdle || waiting_.empty()) return false;
  batch_.swap(waiting_);
  failed_ = false;
  for (Item& item : batch_) item.got = false;
  phase_ = Phase::kWords;
  GetWords(before());
  return true;
}

void OneSidedReader::Get(std::size_t offset, MutableByteSpan into, const net::Memory& memory) {
  ++gets_;
  transport_.Get(*memory_, offset, into, memory, net::GetToken(shard_.value()));
}

// The words of the batch's blocks, and those between: blocks that are asked for together mostly lie
// together. With the first copy the header too, which has the view.
void OneSidedReader::GetWords(MutableByteSpan copy) {
  const auto [low, high] =
      std::ranges::minmax(batch_, {}, [](const Item& item) { return item.read.position; });
  std::size_t begin = sizeof(arena::Header) + low.read.position * sizeof(arena::BlockWord);
  const std::size_t end =
      sizeof(arena::Header) + (high.read.position + 1) * sizeof(arena::BlockWord);
  if (phase_ == Phase::kWords && end <= kOneGetBytes) {
    begin = 0;
  } else if (phase_ == Phase::kWords) {
    Get(0, copy.first(sizeof(arena::Header)), *scratch_);
  }
  Get(begin, copy.subspan(begin, end - begin), *scratch_);
}

void OneSidedReader::OnGot(const absl::Status& status) {
  failed_ |= !status.ok();
  if (--gets_ == 0 && memory_ != nullptr) OnPhaseOver();
}

void OneSidedReader::LetGo() {
  memory_.reset();
  waiting_.clear();
}

void OneSidedReader::OnPhaseOver() {
  // Only the shard can say what is wrong, or the transport, that it is gone.
  if (failed_ || (phase_ == Phase::kWords && !IsTheArena())) return DeclineAll();
  switch (phase_) {
    case Phase::kIdle:
      return;
    case Phase::kWords:
      phase_ = Phase::kBlocks;
      GetBlocks();
      if (gets_ > 0) return;
      return Judge();
    case Phase::kBlocks:
      phase_ = Phase::kWordsAgain;
      return GetWords(after());
    case Phase::kWordsAgain:
      return Judge();
  }
}

bool OneSidedReader::IsTheArena() const {
  const auto& header = *reinterpret_cast<const arena::Header*>(before().data());
  return header.magic == arena::kMagic && header.format == arena::kFormat &&
         header.blocks == blocks_ && header.incarnation == incarnation_.value();
}

const arena::BlockWord& OneSidedReader::WordIn(MutableByteSpan copy, std::size_t position) {
  return reinterpret_cast<const arena::BlockWord*>(copy.data() + sizeof(arena::Header))[position];
}

// Those that are not changing just now, and are new enough.
void OneSidedReader::GetBlocks() {
  const ViewNumber view(reinterpret_cast<const arena::Header*>(before().data())
                            ->view.load(std::memory_order_relaxed));
  for (Item& item : batch_) {
    const arena::BlockWord& word = WordIn(before(), item.read.position);
    const std::uint64_t sequence = word.sequence.load(std::memory_order_relaxed);
    const std::uint64_t offset = word.offset.load(std::memory_order_relaxed);
    const std::size_t bytes = item.read.to.size_bytes();
    const bool sane = offset <= memory_->size() && bytes <= memory_->size() - offset;
    if (view != item.read.view || !sane || Version(sequence / 2) < item.read.at_least) {
      item.attempts = kAttempts;  // another attempt would be no better
    } else if (sequence % 2 == 0) {
      item.got = true;
      Get(offset, std::as_writable_bytes(item.read.to), *item.read.memory);
    }
  }
}

// A block is whole if its word did not change from before its bytes were read to after: who writes
// to a slot changes the word of the block that lives there first (BlockStore), and a device sees an
// x86 processor's stores in their order. The offset is compared as well, since nothing says in
// which order a device reads a word's two halves.
void OneSidedReader::Judge() {
  phase_ = Phase::kIdle;
  judged_.swap(batch_);
  for (Item& item : judged_) {
    const std::size_t position = item.read.position;
    const arena::BlockWord& first = WordIn(before(), position);
    const arena::BlockWord& second = WordIn(after(), position);
    const std::uint64_t sequence = first.sequence.load(std::memory_order_relaxed);
    if (item.got && second.sequence.load(std::memory_order_relaxed) == sequence &&
        second.offset.load(std::memory_order_relaxed) ==
            first.offset.load(std::memory_order_relaxed)) {
      done_(item.read, Version(sequence / 2));
    } else if (++item.attempts < kAttempts) {
      waiting_.push_back(item);
    } else {
      done_(item.read, std::nullopt);
    }
  }
  judged_.clear();
}

void OneSidedReader::DeclineAll() {
  phase_ = Phase::kIdle;
  judged_.swap(batch_);
  for (const Item& item : judged_) done_(item.read, std::nullopt);
  judged_.clear();
}

}  // namespace weir
