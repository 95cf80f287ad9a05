#include "ps_server/logic/push_fetches.h"

#include <set>

#include "gtest/gtest.h"

namespace weir::ps {
namespace {

constexpr int kCredits = 6;
constexpr std::size_t kPlaces = 6;

PushFetches::Fetch FetchOf(std::uint64_t session, std::uint32_t block, std::uint64_t sequence = 1,
                           std::uint32_t view = 1) {
  return {.worker = WorkerIndex(0),
          .push = wire::PushBlock(session, 1, sequence, 0, 1, view, block, 1, 1, 0, 0, 1),
          .from = wire::GradientPlace(1, 0)};
}

class PushFetchesTest : public ::testing::Test {
 protected:
  // Blocks 0 to `blocks`, and how many of them got a place.
  std::size_t AddAndStart(std::uint64_t session, std::uint32_t blocks) {
    for (std::uint32_t b = 0; b < blocks; ++b) EXPECT_TRUE(fetches_.Add(FetchOf(session, b)));
    return StartAll();
  }
  std::size_t StartAll() {
    std::size_t started = 0;
    while (const auto place = fetches_.Start()) {
      EXPECT_TRUE(places_.insert(*place).second) << "a place that is taken";
      EXPECT_LT(*place, kPlaces);
      ++started;
    }
    return started;
  }
  std::optional<PushFetches::Fetch> End(std::size_t place) {
    places_.erase(place);
    return fetches_.End(place);
  }

  PushFetches fetches_{kPlaces, kCredits};
  std::set<std::size_t> places_;  // that are taken
};

TEST_F(PushFetchesTest, LandsInPlacesOfTheirOwnAndComesBackFromThem) {
  EXPECT_EQ(AddAndStart(7, 3), 3U);
  EXPECT_EQ(fetches_.under_way(), 3U);
  std::set<std::uint32_t> blocks;
  for (const std::size_t place : std::set(places_)) {
    EXPECT_EQ(fetches_.at(place).push.session(), 7U);
    blocks.insert(End(place)->push.block());
  }
  EXPECT_EQ(blocks, (std::set<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(fetches_.under_way(), 0U);
}

TEST_F(PushFetchesTest, OneWorkerHasFewPlacesSoThatAnotherFindsSome) {
  EXPECT_EQ(AddAndStart(7, kCredits), PushFetches::kPlacesOfOne);
  EXPECT_EQ(AddAndStart(8, kCredits), kPlaces - PushFetches::kPlacesOfOne);
  EXPECT_EQ(fetches_.waiting(), 2 * kCredits - kPlaces);
  // In order of arrival: the next is the first one's.
  End(*places_.begin());
  const auto place = fetches_.Start();
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(fetches_.at(*place).push.session(), 7U);
  EXPECT_EQ(fetches_.at(*place).push.block(), PushFetches::kPlacesOfOne);
}

TEST_F(PushFetchesTest, ARepetitionAddsNothingWhetherItWaitsOrNot) {
  AddAndStart(7, kCredits);
  for (std::uint32_t b = 0; b < kCredits; ++b) EXPECT_TRUE(fetches_.Add(FetchOf(7, b, 1, 2)));
  EXPECT_EQ(fetches_.waiting(), kCredits - PushFetches::kPlacesOfOne);
  EXPECT_EQ(StartAll(), 0U);
  // But what is judged by a view is judged by the newest, also when an older one comes last.
  EXPECT_TRUE(fetches_.Add(FetchOf(7, fetches_.at(*places_.begin()).push.block(), 1, 1)));
  EXPECT_EQ(End(*places_.begin())->push.view(), 2U);
}

TEST_F(PushFetchesTest, NobodyHasMoreHereThanCredits) {
  AddAndStart(7, kCredits);
  EXPECT_FALSE(fetches_.Add(FetchOf(7, kCredits)));
  EXPECT_FALSE(fetches_.Add(FetchOf(7, 0, 2)));
  EXPECT_TRUE(fetches_.Add(FetchOf(8, 0)));
  End(*places_.begin());
  EXPECT_TRUE(fetches_.Add(FetchOf(7, kCredits)));
}

// What is being filled for a session that is over stays taken until the fabric lets go of it.
TEST_F(PushFetchesTest, ForgetsASessionButNotWhatIsBeingFilledForIt) {
  AddAndStart(7, kCredits);
  fetches_.Forget(7);
  EXPECT_EQ(fetches_.waiting(), 0U);
  EXPECT_EQ(fetches_.under_way(), PushFetches::kPlacesOfOne);
  EXPECT_EQ(AddAndStart(8, kCredits), kPlaces - PushFetches::kPlacesOfOne);
  for (const std::size_t place : std::set(places_)) {
    const auto fetch = End(place);
    if (fetch.has_value()) {
      EXPECT_EQ(fetch->push.session(), 8U);
    }
  }
  EXPECT_EQ(fetches_.under_way(), 0U);
  EXPECT_EQ(StartAll(), kCredits - (kPlaces - PushFetches::kPlacesOfOne));
}

TEST(PushFetchesPlacesTest, ThereAreFewForFewWorkersAndAFixedNumberForMany) {
  EXPECT_EQ(PushFetches::PlacesFor(1), PushFetches::kPlacesOfOne);
  EXPECT_EQ(PushFetches::PlacesFor(1000), PushFetches::kMostPlaces);
}

}  // namespace
}  // namespace weir::ps
