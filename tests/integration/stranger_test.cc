// Somebody who knows the UCX addresses of a job but was given no session by its control plane.
#include <vector>

#include "common/base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schemas/data_generated.h"
#include "tests/integration/data_plane.h"

namespace weir::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr std::int64_t kElements = 100;
constexpr absl::Duration kLimit = absl::Seconds(30);
// Where the fabric does not tell a worker that its connection was closed, its deadline does.
constexpr absl::Duration kDeadline = absl::Milliseconds(300);
constexpr std::uint64_t kNews = 1u << 20;  // a push's number that its worker has not reached

/// Sends whatever it likes to one address, in the name of whomever it likes.
class Stranger final : public net::TransportEvents {
 public:
  Stranger(std::unique_ptr<net::Transport> transport, const std::vector<std::uint8_t>& victim)
      : transport_(std::move(transport)),
        payload_(*transport_->Allocate(kElements * sizeof(float))),
        peer_(*transport_->Connect(std::string(victim.begin(), victim.end()), "the victim")) {
    auto* values = reinterpret_cast<float*>(payload_->bytes().data());
    std::fill_n(values, kElements, 666.0F);
  }
  ~Stranger() override { transport_.reset(); }

  template <typename Header>
  void Send(wire::MessageType type, const Header& header, bool with_payload) {
    Send(static_cast<std::uint8_t>(type), AsBytes(header), with_payload ? kElements : 0);
  }
  void Send(std::uint8_t type, ByteSpan header, std::int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
    transport_->Send(peer_, type, header, ByteSpan(payload_->bytes()).first(bytes),
                     elements > 0 ? payload_.get() : nullptr, net::SendToken(sent_++));
  }
  void Progress() {
    if (!transport_->Progress(*this)) transport_->Wait(absl::Milliseconds(1));
  }
  std::uint64_t sent() const { return sent_; }
  int received() const { return received_; }

  void OnMessage(std::uint8_t, ByteSpan, ByteSpan) override { ++received_; }
  void OnSent(net::SendToken, const absl::Status&) override {}
  void OnPeerDown(net::PeerId, const absl::Status&) override {}

 private:
  std::unique_ptr<net::Transport> transport_;
  const std::unique_ptr<net::Memory> payload_;
  const net::PeerId peer_;
  std::uint64_t sent_ = 0;
  int received_ = 0;
};

class StrangerTest : public ::testing::TestWithParam<Fabric> {
 protected:
  StrangerTest() {
    plane_.Join(kA);
    Connect();
  }

  /// The worker, as whose latest life it is.
  void Connect(absl::Duration request_deadline = kLimit) {
    const ShardConnector through = [this](ShardIndex shard, const wire::ConnectRequestT& request) {
      auto reply = plane_.Call(shard, request);
      worker_address_ = request.data_address;
      ps_address_ = reply->data_address;
      session_ = reply->session;
      return reply;
    };
    DataClientOptions options = plane_.OptionsOf(kA);
    options.request_deadline = request_deadline;
    weights_.reset();
    client_.reset();
    client_ = *plane_.TryConnect(options, through);
    weights_ = std::make_unique<ParameterBuffer>(*client_->AllocateParameters());
  }

  /// What a stranger may try: the nearest, the simplest, any.
  std::vector<std::uint64_t> WrongSessions() const {
    return {0, 1, ~std::uint64_t{0}, session_ ^ 1, session_ ^ (std::uint64_t{1} << 63), RandomId()};
  }

  std::span<const float> Pulled() {
    EXPECT_EQ(client_->Pull(*weights_), absl::OkStatus());
    return weights_->tensor(0);
  }

  DataPlane plane_{*Layout::Create({Tensor("a", {kElements})}, 1), {.fabric = GetParam()}};
  std::vector<std::uint8_t> worker_address_;
  std::vector<std::uint8_t> ps_address_;
  std::uint64_t session_ = 0;
  DataPlane::ClientPtr client_;
  std::unique_ptr<ParameterBuffer> weights_;
};

TEST_P(StrangerTest, NeitherPushesNorPullsNorTakesSteps) {
  Stranger stranger(plane_.CreateTransport(), ps_address_);
  const std::uint64_t life = plane_.OptionsOf(kA).incarnation.value();
  const std::uint32_t view = plane_.view().value();
  // All is right but for the session: worker, incarnation, view, numbers.
  for (const std::uint64_t session : WrongSessions()) {
    stranger.Send(wire::MessageType::TicketRequest,
                  wire::TicketRequest(session, life, 1, 0, view, 0, wire::TicketAction::Next, 0),
                  false);
    stranger.Send(wire::MessageType::PushBlock,
                  wire::PushBlock(session, life, 1, 0, 1, view, 0, 1, 1, 0, 0, 0), true);
    stranger.Send(wire::MessageType::PullRequest,
                  wire::PullRequest(session, life, 1, view, 0, 1, 0, 0), false);
  }
  const absl::Time give_up = MonotonicNow() + kLimit;
  while (plane_.server(0).strangers_messages() < stranger.sent() && MonotonicNow() < give_up) {
    stranger.Progress();
  }
  ASSERT_EQ(plane_.server(0).strangers_messages(), stranger.sent())
      << "they arrived, and were seen";
  EXPECT_EQ(stranger.received(), 0);

  // The worker finds everything as if there had been nobody.
  EXPECT_THAT(Pulled(), Each(0.0F));
  const auto step = client_->NextStep(std::nullopt, *weights_);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step, Step(1));
  auto gradients = client_->AllocateParameters();
  std::ranges::fill(gradients->tensor(0), -10.0F);
  ASSERT_EQ(client_->Push(*gradients, Step(1)), absl::OkStatus());
  EXPECT_THAT(Pulled(), Each(1.0F));
}

TEST_P(StrangerTest, FeedsAWorkerNothing) {
  Stranger stranger(plane_.CreateTransport(), worker_address_);
  const std::uint32_t view = plane_.view().value();
  std::uint64_t request = 0;
  const absl::Time give_up = MonotonicNow() + kLimit;
  // In the middle of pulls, with the number of the pull that is under way among others.
  while (client_->strangers_messages() < 100 && MonotonicNow() < give_up) {
    ++request;
    for (const std::uint64_t session : WrongSessions()) {
      stranger.Send(wire::MessageType::PullBlock,
                    wire::PullBlock(session, request, 7, view, 0, wire::Code::Ok, 0, 0, 0), true);
      stranger.Send(wire::MessageType::PushAck,
                    wire::PushAck(session, 1, 7, view, 0, wire::Code::Ok, 0, 0, 0), false);
      stranger.Send(wire::MessageType::TicketReply,
                    wire::TicketReply(session, 1, 99, view, wire::TicketOutcome::Granted, 0, 0),
                    false);
    }
    stranger.Progress();
    ASSERT_THAT(Pulled(), Each(0.0F));
  }
  EXPECT_GE(client_->strangers_messages(), 100U);
  EXPECT_EQ(plane_.server(0).strangers_messages(), 0U);
}

/// A message as one sends it that has a session, but is no worker, or no ps, of weir's.
struct Nonsense {
  const char* what;
  std::uint8_t type;
  std::string header;
  std::int64_t elements = 0;
};

template <typename Header>
Nonsense Of(const char* what, wire::MessageType type, const Header& header,
            std::int64_t elements = 0) {
  const ByteSpan bytes = AsBytes(header);
  return {what, static_cast<std::uint8_t>(type),
          std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), elements};
}

Nonsense Short(wire::MessageType type, std::uint64_t session) {
  return Of("a header that ends too soon", type, session);
}

TEST_P(StrangerTest, NonsenseInASessionsNameEndsThatSessionAlone) {
  const auto all = [&](std::uint64_t session) {
    const std::uint64_t life = plane_.OptionsOf(kA).incarnation.value();
    const std::uint32_t view = plane_.view().value();
    const auto push = [&](std::uint64_t base, std::uint32_t block, std::uint8_t codec,
                          std::uint8_t source) {
      return wire::PushBlock(session, life, kNews, base, 1, view, block, 1, 1, 0, codec, source);
    };
    return std::vector<Nonsense>{
        Short(wire::MessageType::PushBlock, session),
        Short(wire::MessageType::PullRequest, session),
        Short(wire::MessageType::TicketRequest, session),
        Short(wire::MessageType::ExportMemory, session),
        Of("a type that there is not", wire::MessageType(13), session),
        Of("a worker's answer", wire::MessageType::PushAck, session),
        Of("another block", wire::MessageType::PushBlock, push(0, 7, 0, 0), kElements),
        Of("half a block", wire::MessageType::PushBlock, push(0, 0, 0, 0), kElements / 2),
        Of("a codec that there is not", wire::MessageType::PushBlock, push(0, 0, 9, 0), kElements),
        Of("a version to come", wire::MessageType::PushBlock, push(1u << 30, 0, 0, 0), kElements),
        Of("no source", wire::MessageType::PushBlock, push(0, 0, 0, 9), kElements),
        Of("memory that was not exported", wire::MessageType::PushBlock, push(0, 0, 0, 1)),
        Of("too many blocks", wire::MessageType::PullRequest,
           wire::PullRequest(session, life, 1, view, 0, 99, 0, 0)),
    };
  };
  plane_.Join(kB);
  const DataPlane::ClientPtr other = plane_.Connect(kB);
  auto gradients = other->AllocateParameters();
  auto weights = other->AllocateParameters();
  std::ranges::fill(gradients->tensor(0), -10.0F);
  float weight = 0;
  Connect(kDeadline);
  for (std::size_t i = 0; i < all(0).size(); ++i) {
    Stranger stranger(plane_.CreateTransport(), ps_address_);
    const Nonsense message = all(session_)[i];
    SCOPED_TRACE(message.what);
    stranger.Send(message.type, std::as_bytes(std::span(message.header)), message.elements);
    // The session's own worker finds out at its next push, by the end of its connection or its
    // deadline.
    absl::Status ended;
    const absl::Time give_up = MonotonicNow() + kLimit;
    auto own = client_->AllocateParameters();
    while (ended.ok() && MonotonicNow() < give_up) {
      stranger.Progress();
      ended = client_->Push(*own, Step(1));
    }
    EXPECT_TRUE(absl::IsUnavailable(ended) || absl::IsDeadlineExceeded(ended) ||
                absl::IsInvalidArgument(ended))
        << ended;
    ASSERT_EQ(other->Push(*gradients, Step(1)), absl::OkStatus());
    weight += 1.0F;
    ASSERT_EQ(other->Pull(*weights), absl::OkStatus());
    EXPECT_THAT(weights->tensor(0), Each(weight));
    plane_.Leave(kA);
    plane_.Join(kA);
    Connect(kDeadline);
  }
  EXPECT_EQ(plane_.server(0).strangers_messages(), 0U);
}

TEST_P(StrangerTest, NonsenseInAShardsNameEndsItsConnection) {
  const auto all = [&](std::uint64_t session) {
    const std::uint32_t view = plane_.view().value();
    return std::vector<Nonsense>{
        Short(wire::MessageType::PushAck, session),
        Short(wire::MessageType::PullBlock, session),
        Short(wire::MessageType::TicketReply, session),
        Short(wire::MessageType::MemoryMapped, session),
        Of("a type that there is not", wire::MessageType(13), session),
        Of("a worker's request", wire::MessageType::PullRequest, session),
        Of("another block", wire::MessageType::PushAck,
           wire::PushAck(session, 1, 7, view, 7, wire::Code::Ok, 0, 0, 0)),
        Of("half a block", wire::MessageType::PullBlock,
           wire::PullBlock(session, 1, 7, view, 0, wire::Code::Ok, 0, 0, 0), kElements / 2),
        Of("a step that was not asked for", wire::MessageType::TicketReply,
           wire::TicketReply(session, 99, 1, view, wire::TicketOutcome::Granted, 0, 0)),
    };
  };
  for (std::size_t i = 0; i < all(0).size(); ++i) {
    Stranger stranger(plane_.CreateTransport(), worker_address_);
    const Nonsense message = all(session_)[i];
    SCOPED_TRACE(message.what);
    stranger.Send(message.type, std::as_bytes(std::span(message.header)), message.elements);
    absl::Status ended;
    const absl::Time give_up = MonotonicNow() + kLimit;
    auto own = client_->AllocateParameters();
    while (ended.ok() && MonotonicNow() < give_up) {
      stranger.Progress();
      ended = client_->Push(*own, Step(1));
    }
    EXPECT_EQ(ended.code(), absl::StatusCode::kUnavailable) << ended;
    EXPECT_THAT(std::string(ended.message()), HasSubstr("closed the connection to ps 0: it sent"));
    EXPECT_EQ(ExitCodeOf(ended), ExitCode::kPeerLost);
    plane_.Leave(kA);
    plane_.Join(kA);
    Connect();
    EXPECT_THAT(Pulled(), Each(0.0F)) << "pushes of zeros, or none";
  }
}

INSTANTIATE_TEST_SUITE_P(On, StrangerTest, ::testing::ValuesIn(kFabrics),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace weir::testing
