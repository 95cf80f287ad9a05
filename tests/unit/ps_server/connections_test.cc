#include "ps_server/logic/connections.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ps_server/logic/admission.h"

namespace weir::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WorkerIndex kA(0);
constexpr WorkerIndex kB(1);
constexpr absl::Time kStart = absl::UnixEpoch();
constexpr absl::Duration kLinger = Connections::kFencedLinger;

class ConnectionsTest : public ::testing::Test {
 protected:
  // The connection with session N is to peer N.
  static Connection Of(WorkerIndex worker, std::uint64_t incarnation, std::uint32_t session) {
    return {.worker = worker,
            .incarnation = Incarnation(incarnation),
            .peer = net::PeerId(session),
            .session = session};
  }
  std::vector<std::uint64_t> View(std::vector<LiveWorker> live, absl::Time now = kStart) {
    EXPECT_TRUE(admission_.OnView(admission_.view().next(), live));
    return SessionsOf(connections_.OnView(admission_, now));
  }
  static std::vector<std::uint64_t> SessionsOf(const std::vector<Connection>& connections) {
    std::vector<std::uint64_t> sessions;
    for (const Connection& connection : connections) sessions.push_back(connection.session);
    return sessions;
  }
  std::uint64_t AnswerGoesTo(WorkerIndex worker, std::uint64_t session) {
    const Connection* connection = connections_.ForAnswer(worker, session);
    return connection == nullptr ? 0 : connection->session;
  }

  Admission admission_{{.transport_kind = "loopback", .max_workers = 2}};
  Connections connections_{2};
};

TEST_F(ConnectionsTest, OneThatConnectsAgainReplacesItsEarlierConnection) {
  View({{kA, Incarnation(1)}});
  EXPECT_FALSE(connections_.Open(Of(kA, 1, 10)).has_value());
  EXPECT_EQ(connections_.Open(Of(kA, 1, 11))->session, 10U);
  EXPECT_EQ(connections_.OfSession(10), nullptr);
  EXPECT_EQ(connections_.OfPeer(net::PeerId(11))->session, 11U);
  EXPECT_EQ(AnswerGoesTo(kA, 10), 11U) << "what had to wait follows the worker";
}

TEST_F(ConnectionsTest, AFencedWorkerStaysConnectedForAWhile) {
  View({{kA, Incarnation(1)}, {kB, Incarnation(2)}});
  connections_.Open(Of(kA, 1, 10));
  connections_.Open(Of(kB, 2, 20));
  EXPECT_THAT(View({{kB, Incarnation(2)}}), IsEmpty());
  EXPECT_EQ(AnswerGoesTo(kA, 10), 10U) << "so that it hears Fenced";
  EXPECT_THAT(connections_.TakeExpired(kStart + kLinger - absl::Milliseconds(1)), IsEmpty());
  EXPECT_THAT(SessionsOf(connections_.TakeExpired(kStart + kLinger)), ElementsAre(10U));
  EXPECT_EQ(AnswerGoesTo(kA, 10), 0U);
  EXPECT_FALSE(connections_.any_fenced());
  EXPECT_EQ(AnswerGoesTo(kB, 20), 20U);
}

TEST_F(ConnectionsTest, TheNextIncarnationConnectsBesideAFencedOne) {
  View({{kA, Incarnation(1)}});
  connections_.Open(Of(kA, 1, 10));
  View({{kA, Incarnation(3)}});
  EXPECT_FALSE(connections_.Open(Of(kA, 3, 30)).has_value());
  EXPECT_EQ(AnswerGoesTo(kA, 10), 10U) << "never to the next incarnation";
  EXPECT_EQ(AnswerGoesTo(kA, 30), 30U);
  connections_.Remove(10);
  EXPECT_EQ(AnswerGoesTo(kA, 30), 30U);
  EXPECT_FALSE(connections_.any_fenced());
}

TEST_F(ConnectionsTest, AtMostOneFencedConnectionAWorker) {
  View({{kA, Incarnation(1)}});
  connections_.Open(Of(kA, 1, 10));
  View({{kA, Incarnation(3)}});
  connections_.Open(Of(kA, 3, 30));
  EXPECT_THAT(View({}), ElementsAre(10U));
  EXPECT_EQ(connections_.OfSession(10), nullptr);
  EXPECT_THAT(SessionsOf(connections_.All()), ElementsAre(30U));
}

TEST_F(ConnectionsTest, RemembersTheLastThatWent) {
  View({{kA, Incarnation(1)}});
  for (std::uint32_t session = 1; session <= 300; ++session) {
    connections_.Open(Of(kA, 1, session));
  }
  EXPECT_FALSE(connections_.RecentlyRemoved(300)) << "it is open";
  EXPECT_TRUE(connections_.RecentlyRemoved(299));
  EXPECT_FALSE(connections_.RecentlyRemoved(1)) << "long ago";
  EXPECT_FALSE(connections_.RecentlyRemoved(1000)) << "a stranger's";
}

TEST_F(ConnectionsTest, AnIncarnationConnectsOnceItIsInTheView) {
  wire::ConnectRequestT request;
  request.worker = kA.value();
  request.incarnation = 3;
  View({{kA, Incarnation(1)}});
  EXPECT_EQ(admission_.ReasonToWait(request), "worker 0 is not in this ps's view 1 yet");
  View({{kA, Incarnation(3)}});
  EXPECT_EQ(admission_.ReasonToWait(request), "");
  EXPECT_FALSE(admission_.OnView(ViewNumber(1), {}));
  EXPECT_EQ(admission_.ReasonToWait(request), "") << "an older view changes nothing";
}

}  // namespace
}  // namespace weir::ps
