#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/ids.h"
#include "schemas/data_generated.h"

namespace weir::ps {

/// Which pushes have their gradients fetched from the memory of their workers, and where each
/// lands. There is a fixed number of places to land in, and a worker may use few of them at a time:
/// one whose host is gone, so that nothing arrives any more, holds up no other until most places
/// are held by such. Who finds no place waits, in order of arrival. What waits is bounded: a worker
/// may have as many blocks here as it has push credits, and what is beyond is to come again. A
/// correct worker gets there only when an earlier message of a push that is here was refused (its
/// view was old), which gave it the credit back.
///
/// A repetition of a push that is here adds nothing; the push is judged by the newer of their
/// views. So a gradient is fetched once for each time that its push is answered, and a worker's
/// memory is its own again with the answer.
///
/// Threading: one owner. Allocates nothing once it has grown to the credits' bound.
class PushFetches {
 public:
  /// Of one session. Three reads of 224 KiB under way fill a link of 200 Gbit/s over a round trip
  /// of 25 us; one more is being applied.
  static constexpr std::size_t kPlacesOfOne = 4;
  /// 14 MiB, with blocks of the largest size.
  static constexpr std::size_t kMostPlaces = 64;
  /// What a shard for so many workers has.
  static std::size_t PlacesFor(int workers);

  struct Fetch {
    WorkerIndex worker;
    wire::PushBlock push;
    wire::GradientPlace from;
  };

  PushFetches(std::size_t places, int push_credits);

  /// False, and no effect, where the session has as many blocks here as it has credits.
  bool Add(const Fetch& fetch);
  /// Gives the next one a place, which is to be filled from now on; nothing where none can have
  /// one.
  std::optional<std::size_t> Start();
  const Fetch& at(std::size_t place) const { return *places_[place].fetch; }
  /// The place is filled, or will not be: once for every Start. It is free. Returns what was
  /// fetched; nothing if its session is over.
  std::optional<Fetch> End(std::size_t place);
  /// The session is over. Places that are being filled for it stay taken until they End.
  void Forget(std::uint64_t session);

  std::size_t waiting() const { return waiting_.size(); }
  /// Places that are being filled.
  std::size_t under_way() const { return under_way_; }

 private:
  struct Place {
    std::uint64_t session = 0;   // 0: free
    std::optional<Fetch> fetch;  // none: free, or its session is over
  };
  std::size_t PlacesOf(std::uint64_t session) const;

  std::vector<Place> places_;
  std::size_t under_way_ = 0;
  const std::size_t push_credits_;
  std::vector<Fetch> waiting_;  // in order of arrival
};

}  // namespace weir::ps
