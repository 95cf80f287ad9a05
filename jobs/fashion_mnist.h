#pragma once

#include <memory>

#include "weir/job.h"

namespace weir {

/// The TensorFlow tutorial's job: a CNN of 347,146 parameters (Conv2D 32 3x3 ReLU, MaxPool 2,
/// Flatten, Dense 64 ReLU, Dense 10) on Fashion-MNIST, pixels divided by 255 and nothing else.
/// Data: the four .gz files of Debian's package dataset-fashion-mnist, or --data-dir.
std::unique_ptr<Job> CreateFashionMnist();

}  // namespace weir
