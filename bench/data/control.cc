#include "bench/data/control.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/common/pattern.h"
#include "bench/data/raw_ucx.h"
#include "common/base/clock.h"
#include "common/base/status_macros.h"
#include "common/net/ucx/status.h"

namespace weir::bench {
namespace {

using net::FromUcs;

constexpr unsigned kRequestId = 1;
constexpr unsigned kAnswerId = 2;
using Word = std::uint64_t;  // an answer: what the message began with
constexpr absl::Duration kPatience = absl::Seconds(20);
// Between two looks at the clock or at `done`.
constexpr int kSpins = 4096;

// What each of the responder's places holds before the first message, and what messages hold: no
// element is the same in both.
constexpr std::uint64_t kHeld = 1;
constexpr std::uint64_t kSent = 2;

void Fill(std::uint64_t pattern, MutableByteSpan place) {
  FillGradient(pattern, 0, 0,
               std::span(reinterpret_cast<float*>(place.data()), place.size() / sizeof(float)));
}

/// As many bytes of a message as fit in a word.
Word Begin(ByteSpan bytes) {
  Word word = 0;
  std::memcpy(&word, bytes.data(), std::min(sizeof word, bytes.size()));
  return word;
}

// A request of UCX that nobody waits for.
void Forget(ucs_status_ptr_t request) {
  if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
}

class Responder final : public ControlResponder {
 public:
  Responder(std::unique_ptr<RawUcx> ucx, std::size_t size) : ucx_(std::move(ucx)) {
    for (std::size_t at = 0; at < ucx_->memory().size(); at += size) {
      places_.push_back({.of = this, .memory = ucx_->memory().subspan(at, size)});
    }
  }

  absl::Status Open() {
    for (const Place& place : places_) Fill(kHeld, place.memory);
    WEIR_RETURN_IF_ERROR(ucx_->Handle(kRequestId, &Responder::OnRequest, this));
    WEIR_ASSIGN_OR_RETURN(const std::string address, ucx_->Address());
    WEIR_ASSIGN_OR_RETURN(const std::string key, ucx_->MemoryKey());
    ticket_ = absl::StrCat(absl::BytesToHexString(address), ":", absl::BytesToHexString(key), ":",
                           reinterpret_cast<std::uintptr_t>(ucx_->memory().data()));
    return absl::OkStatus();
  }

  std::string ticket() const override { return ticket_; }

  void Serve(const std::function<bool()>& done) override {
    while (!done()) {
      for (int spin = 0; spin < kSpins; ++spin) ucp_worker_progress(ucx_->worker());
    }
  }

 private:
  /// Where a message lands.
  struct Place {
    Responder* of = nullptr;
    MutableByteSpan memory;
    Word answer = 0;  // read until its send has ended
  };

  static ucs_status_t OnRequest(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* param) {
    auto* responder = static_cast<Responder*>(self);
    Place& place = responder->places_[responder->taken_++ % responder->places_.size()];
    if (bytes > place.memory.size() || (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) {
      return UCS_OK;
    }
    responder->reply_to_ = param->reply_ep;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(place.memory.data(), data, bytes);
      responder->Answer(place);
      return UCS_OK;
    }
    ucp_request_param_t fetch{};
    fetch.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
                         UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    fetch.cb.recv_am = &Responder::OnFetched;
    fetch.user_data = &place;
    fetch.memh = responder->ucx_->memory_handle();
    ucp_am_recv_data_nbx(responder->ucx_->worker(), data, place.memory.data(), bytes, &fetch);
    return UCS_OK;
  }

  static void OnFetched(void* request, ucs_status_t status, std::size_t, void* user_data) {
    Place& place = *static_cast<Place*>(user_data);
    // Memory that then holds nothing that was sent answers wrong.
    if (status != UCS_OK) Fill(kHeld, place.memory);
    place.of->Answer(place);
    ucp_request_free(request);
  }

  void Answer(Place& place) {
    place.answer = Begin(place.memory);
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    Forget(ucp_am_send_nbx(reply_to_, kAnswerId, nullptr, 0, &place.answer, sizeof place.answer,
                           &param));
  }

  std::unique_ptr<RawUcx> ucx_;
  std::string ticket_;
  std::vector<Place> places_;
  std::uint64_t taken_ = 0;
  ucp_ep_h reply_to_ = nullptr;  // of the one requester
};

class Requester {
 public:
  Requester(std::unique_ptr<RawUcx> ucx, const ControlRun& run) : ucx_(std::move(ucx)), run_(run) {}
  ~Requester() {
    if (key_ != nullptr) ucp_rkey_destroy(key_);
    if (endpoint_ != nullptr) Close();
  }
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;

  absl::Status Connect(const std::string& ticket) {
    const std::vector<std::string> parts = absl::StrSplit(ticket, ':');
    if (parts.size() != 3 || !absl::SimpleAtoi(parts[2], &remote_)) {
      return absl::InvalidArgumentError("this is no ticket of a control");
    }
    WEIR_RETURN_IF_ERROR(ucx_->Handle(kAnswerId, &Requester::OnAnswer, this));
    const std::string address = absl::HexStringToBytes(parts[0]);
    const std::string key = absl::HexStringToBytes(parts[1]);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    WEIR_RETURN_IF_ERROR(
        FromUcs(ucp_ep_create(ucx_->worker(), &params, &endpoint_), "connecting the control"));
    if (run_.kind != ControlKind::kGet) return absl::OkStatus();
    return FromUcs(ucp_ep_rkey_unpack(endpoint_, key.data(), &key_), "reading a key of memory");
  }

  absl::StatusOr<Samples> Run() {
    const bool get = run_.kind == ControlKind::kGet;
    Samples samples;
    for (std::uint64_t i = 0; i < run_.warm_up + run_.iters; ++i) {
      Rewrite(i);
      const absl::Time start = MonotonicNow();
      WEIR_RETURN_IF_ERROR(get ? Get() : SendAndAwait());
      const absl::Time end = MonotonicNow();
      if (i >= run_.warm_up) samples.Add(end - start);
    }
    samples.wrong = wrong_ + (get ? WrongBytes() : 0);
    return samples;
  }

 private:
  /// The memory of one operation of a window.
  MutableByteSpan Place(int i) const {
    return ucx_->memory().subspan(static_cast<std::size_t>(i) * run_.size, run_.size);
  }

  // As weir's worker writes gradients anew, and overwrites what a pull fills, so that the caches
  // hold the same at both. The messages of a window, and so their answers, begin alike, and
  // otherwise than those of the last: an old one's answer is wrong.
  void Rewrite(std::uint64_t i) {
    const auto number = static_cast<std::uint32_t>(i + 1);
    for (int at = 0; at < run_.window; ++at) {
      const MutableByteSpan place = Place(at);
      Fill(kSent, place);
      std::memcpy(place.data(), &number, std::min(sizeof number, place.size()));
    }
  }

  static ucs_status_t OnAnswer(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t*) {
    auto* requester = static_cast<Requester*>(self);
    --requester->outstanding_;
    const ByteSpan answer(static_cast<const std::byte*>(data), bytes);
    requester->wrong_ += bytes != sizeof(Word) || Begin(answer) != Begin(requester->Place(0));
    return UCS_OK;
  }

  static void OnDone(void* request, ucs_status_t status, void* self) {
    auto* requester = static_cast<Requester*>(self);
    --requester->outstanding_;
    if (status != UCS_OK) requester->failure_ = status;
    ucp_request_free(request);
  }

  absl::Status SendAndAwait() {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMH;
    param.flags = UCP_AM_SEND_FLAG_REPLY;
    if (run_.kind == ControlKind::kEagerMessage) param.flags |= UCP_AM_SEND_FLAG_EAGER;
    param.memh = ucx_->memory_handle();
    outstanding_ = run_.window;
    for (int i = 0; i < run_.window; ++i) {
      const ucs_status_ptr_t request = ucp_am_send_nbx(endpoint_, kRequestId, nullptr, 0,
                                                       Place(i).data(), Place(i).size(), &param);
      if (UCS_PTR_IS_ERR(request)) return FromUcs(UCS_PTR_STATUS(request), "sending a message");
      Forget(request);
    }
    return Await("an answer to a message");
  }

  absl::Status Get() {
    ucp_request_param_t param{};
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.memh = ucx_->memory_handle();
    param.cb.send = &Requester::OnDone;
    param.user_data = this;
    for (int i = 0; i < run_.window; ++i) {
      const std::uint64_t from = remote_ + static_cast<std::uint64_t>(i) * run_.size;
      const ucs_status_ptr_t request =
          ucp_get_nbx(endpoint_, Place(i).data(), Place(i).size(), from, key_, &param);
      if (UCS_PTR_IS_ERR(request)) return FromUcs(UCS_PTR_STATUS(request), "ucp_get");
      if (UCS_PTR_IS_PTR(request)) ++outstanding_;
    }
    return Await("ucp_get");
  }

  absl::Status Await(const char* what) {
    absl::Time give_up = absl::InfinitePast();
    while (outstanding_ > 0) {
      for (int spin = 0; spin < kSpins && outstanding_ > 0; ++spin) {
        ucp_worker_progress(ucx_->worker());
      }
      if (outstanding_ == 0) break;
      if (give_up == absl::InfinitePast()) give_up = MonotonicNow() + kPatience;
      if (MonotonicNow() >= give_up) {
        return absl::DeadlineExceededError(absl::StrCat("the control waited for ", what, " for ",
                                                        absl::FormatDuration(kPatience)));
      }
    }
    return FromUcs(failure_, what);
  }

  std::uint64_t WrongBytes() const {
    std::vector<std::byte> expected(run_.size);
    Fill(kHeld, expected);
    std::uint64_t wrong = 0;
    for (int i = 0; i < run_.window; ++i) {
      const ByteSpan got = Place(i);
      for (std::size_t at = 0; at < got.size(); ++at) wrong += expected[at] != got[at];
    }
    return wrong;
  }

  // The responder still polls, which the closing needs.
  void Close() {
    ucp_request_param_t param{};
    const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint_, &param);
    if (!UCS_PTR_IS_PTR(request)) return;
    const absl::Time give_up = MonotonicNow() + absl::Seconds(1);
    while (ucp_request_check_status(request) == UCS_INPROGRESS && MonotonicNow() < give_up) {
      ucp_worker_progress(ucx_->worker());
    }
    ucp_request_free(request);
  }

  std::unique_ptr<RawUcx> ucx_;
  const ControlRun run_;
  ucp_ep_h endpoint_ = nullptr;
  ucp_rkey_h key_ = nullptr;
  std::uint64_t remote_ = 0;
  int outstanding_ = 0;
  ucs_status_t failure_ = UCS_OK;
  std::uint64_t wrong_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ControlResponder>> ControlResponder::Create(net::UcxFabric fabric,
                                                                           std::uint64_t size,
                                                                           int window) {
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RawUcx> ucx,
                        RawUcx::Create(fabric, size * static_cast<std::uint64_t>(window)));
  auto responder = std::make_unique<Responder>(std::move(ucx), size);
  WEIR_RETURN_IF_ERROR(responder->Open());
  return std::unique_ptr<ControlResponder>(std::move(responder));
}

std::string NameOf(ControlKind kind) {
  switch (kind) {
    case ControlKind::kMessage:
      return "auto";
    case ControlKind::kEagerMessage:
      return "eager";
    case ControlKind::kGet:
      return "get";
  }
  return "";
}

absl::StatusOr<ControlKind> ControlKindOf(const std::string& name) {
  for (const ControlKind kind :
       {ControlKind::kMessage, ControlKind::kEagerMessage, ControlKind::kGet}) {
    if (name == NameOf(kind)) return kind;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no control '", name, "'"));
}

std::string NameOf(net::UcxFabric fabric) {
  if (fabric == net::UcxFabric::kRdma) return "rdma";
  return fabric == net::UcxFabric::kTcp ? "tcp" : "shm";
}

absl::StatusOr<net::UcxFabric> FabricOf(const std::string& name) {
  for (const net::UcxFabric fabric :
       {net::UcxFabric::kTcp, net::UcxFabric::kShm, net::UcxFabric::kRdma}) {
    if (name == NameOf(fabric)) return fabric;
  }
  return absl::InvalidArgumentError(absl::StrCat("there is no control over '", name, "'"));
}

// What is mapped moves through memory, whatever carries its messages.
net::UcxFabric ControlFabricOf(const std::string& path) {
  if (absl::StartsWith(path, "rdma")) return net::UcxFabric::kRdma;
  return absl::StrContains(path, "tcp") && !absl::StartsWith(path, "mapped") ? net::UcxFabric::kTcp
                                                                             : net::UcxFabric::kShm;
}

absl::StatusOr<Samples> RunControl(const ControlRun& run, const std::string& ticket) {
  const std::uint64_t bytes = run.size * static_cast<std::uint64_t>(run.window);
  WEIR_ASSIGN_OR_RETURN(std::unique_ptr<RawUcx> ucx, RawUcx::Create(run.fabric, bytes));
  Requester requester(std::move(ucx), run);
  WEIR_RETURN_IF_ERROR(requester.Connect(ticket));
  return requester.Run();
}

}  // namespace weir::bench
