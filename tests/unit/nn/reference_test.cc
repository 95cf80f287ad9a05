// No layer of usual shape falls to one of oneDNN's reference implementations, and one that does
// says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "weir/nn/sequential.h"
#include "worker/nn/op.h"

namespace weir::nn {
namespace {

using testing::HasSubstr;
using Tag = dnnl::memory::format_tag;

std::string LoggedDuring(const std::function<void()>& act) {
  testing::internal::CaptureStderr();
  StartLogging("test", LogLevel::kInfo);
  act();
  return testing::internal::GetCapturedStderr();
}

TEST(Reference, NoUsualNetNeedsOne) {
  for (const std::int64_t channels : {1, 2, 3, 5, 8, 16}) {
    for (const std::int64_t filters : {1, 6, 8, 18, 32}) {
      SCOPED_TRACE(absl::StrCat(channels, " channels, ", filters, " filters"));
      Sequential net({14, 15, channels});
      net.Add(Conv2D{.filters = filters, .kernel = 3, .activation = Activation::kRelu});
      net.Add(MaxPool2D{});
      net.Add(Conv2D{.filters = 2 * filters, .kernel = 3, .padding = Padding::kSame}).Add(ReLU{});
      net.Add(Conv2D{.filters = 7, .kernel = 2, .stride = 2}).Add(Flatten{});
      net.Add(Dense{.units = 13, .activation = Activation::kRelu}).Add(Dense{.units = 10});
      const std::string log = LoggedDuring([&] { ASSERT_TRUE(net.Compile(2).ok()); });
      EXPECT_EQ(log, "");
    }
  }
}

// A layout that nobody optimises for.
dnnl::convolution_forward::primitive_desc SlowConvolution(const dnnl::engine& engine) {
  constexpr auto kF32 = dnnl::memory::data_type::f32;
  const dnnl::memory::desc source({2, 3, 8, 8}, kF32, dnnl::memory::dims{1, 2, 6, 48});
  const dnnl::memory::desc kernel({4, 3, 3, 3}, kF32, Tag::any);
  const dnnl::memory::desc result({2, 4, 6, 6}, kF32, dnnl::memory::dims{1, 2, 8, 48});
  return {{dnnl::prop_kind::forward_training,
           dnnl::algorithm::convolution_direct,
           source,
           kernel,
           result,
           {1, 1},
           {0, 0},
           {0, 0}},
          engine};
}

TEST(Reference, OneIsNamedInTheLog) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto slow = SlowConvolution(engine);
  ASSERT_TRUE(IsReference(slow)) << slow.impl_info_str();
  Buffers buffers;
  const auto log_of = [&](bool warns) {
    Builder builder(engine, buffers, 2, warns);
    builder.BeginLayer("conv2d_7");
    return LoggedDuring([&] { builder.WarnOfReference(slow, "convolution"); });
  };
  EXPECT_THAT(log_of(true), HasSubstr("layer 'conv2d_7': for its convolution oneDNN has only ref"));
  EXPECT_EQ(log_of(false), "");
}

}  // namespace
}  // namespace weir::nn
