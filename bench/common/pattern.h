#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::bench {

// The gradients that are pushed, and what they must add up to. All are small whole numbers and the
// learning rate is 1, so that float32 sums are exact in any order, and the weights' bits tell
// whether each push was applied once.

/// The gradient of `worker`'s push number `push` for `tensor`: element i is
/// (i + push + 3 * worker + 5 * tensor) mod 7.
void FillGradient(std::uint64_t push, int worker, std::size_t tensor, std::span<float> gradient);

/// Elements of `values` that are not, bit by bit, what the tensor holds after `pushes` pushes of
/// each of `workers` workers: minus their sum.
std::uint64_t CountWrong(std::uint64_t pushes, int workers, std::size_t tensor,
                         std::span<const float> values);

/// Fills what a pull is to overwrite with a number that no weight has.
void Poison(std::span<float> values);

}  // namespace weir::bench
