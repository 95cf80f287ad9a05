#include "worker/nn/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace weir::nn {
namespace {
std::atomic<int> g_threads{1};
}  // namespace

void SetThreads(int threads) { g_threads.store(std::max(1, threads), std::memory_order_relaxed); }
int threads() { return g_threads.load(std::memory_order_relaxed); }

ScopedThreads::ScopedThreads(int threads) : before_(omp_get_max_threads()) {
  omp_set_num_threads(threads);
}
ScopedThreads::~ScopedThreads() { omp_set_num_threads(before_); }

}  // namespace weir::nn
