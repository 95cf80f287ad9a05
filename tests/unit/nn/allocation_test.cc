// A warm TrainStep allocates nothing of ours. oneDNN 2.6 makes a small table of arguments inside
// each dnnl_primitive_execute, which no caller can avoid: those are counted apart, and must stay
// small and few.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/unit/nn/net_fixture.h"
#include "weir/nn/sequential.h"

namespace {

thread_local bool counting = false;
thread_local int ours = 0;
thread_local int of_onednn = 0;
thread_local std::size_t largest = 0;

bool IsInOneDnn(void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

void* Allocate(std::size_t bytes, std::size_t alignment, void* caller) {
  if (counting) {
    counting = false;
    ++(IsInOneDnn(caller) ? of_onednn : ours);
    largest = std::max(largest, bytes);
    counting = true;
  }
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, bytes == 0 ? alignment : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return Allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return Allocate(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Allocate(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace weir::nn {
namespace {

class CountingHooks final : public StepHooks {
 public:
  absl::Status AwaitWeights(std::size_t /*tensor*/) override {
    ++awaits;
    return absl::OkStatus();
  }
  absl::Status GradientReady(std::size_t /*tensor*/) override {
    ++gradients;
    return absl::OkStatus();
  }
  std::size_t awaits = 0;
  std::size_t gradients = 0;
};

void ExpectNoAllocation(NetFixture& net) {
  CountingHooks hooks;
  ours = of_onednn = 0;
  largest = 0;
  counting = true;
  const auto plain = net.model->TrainStep(net.batch(), net.weight_views, net.gradient_views);
  const auto loss =
      net.model->TrainStepWith(net.batch(), net.weight_views, net.gradient_views, hooks);
  counting = false;
  ASSERT_TRUE(loss.ok()) << loss.status();
  ASSERT_EQ(plain, loss);
  EXPECT_EQ(hooks.awaits, net.tensors.size());
  EXPECT_EQ(hooks.gradients, net.tensors.size());
  EXPECT_EQ(ours, 0);
  EXPECT_LE(of_onednn, 800);  // of two steps
  EXPECT_LT(largest, 1024U);
}

TEST(Allocation, CounterSeesOurs) {
  ours = 0;
  counting = true;
  delete new NetFixture(Sequential({2}).Add(Dense{.units = 2}), 1, 2, 2);
  counting = false;
  EXPECT_GT(ours, 0);
  EXPECT_GT(of_onednn, 0);
}

TEST(Allocation, WarmTrainStepHasNone) {
  Sequential description({12, 12, 3});
  description.Add(Conv2D{.filters = 8, .kernel = 3, .activation = Activation::kRelu});
  description.Add(MaxPool2D{}).Add(Conv2D{.filters = 6, .kernel = 2}).Add(ReLU{});
  description.Add(Flatten{}).Add(Dense{.units = 8, .activation = Activation::kRelu});
  description.Add(Dense{.units = 4});
  NetFixture net(description, 16, 4, 432);
  net.TrainStep();  // oneDNN generates its matrix kernels at their first use
  ExpectNoAllocation(net);
  const auto moved_weights = net.weights;
  net.weight_views.assign(moved_weights.begin(), moved_weights.end());
  ExpectNoAllocation(net);
  ASSERT_TRUE(net.model->TrainStep(net.batch(0, 5), net.weight_views, net.gradient_views).ok());
  ExpectNoAllocation(net);
}

}  // namespace
}  // namespace weir::nn
