#pragma once

namespace weir::nn {

/// How many threads each model that is compiled from now on computes with; 1 unless called, since
/// a worker is a process per core. With more than one, idle threads of OpenMP's runtime spin: set
/// OMP_WAIT_POLICY=passive in the environment where other processes share the cores.
/// Threading: any. `threads` >= 1.
void SetThreads(int threads);
int threads();

/// Makes OpenMP regions of the calling thread use `threads` threads, until its end. The number is
/// one per thread in OpenMP, so it is set where the work is done, and given back to the caller.
class ScopedThreads {
 public:
  explicit ScopedThreads(int threads);
  ~ScopedThreads();
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  int before_;
};

}  // namespace weir::nn
