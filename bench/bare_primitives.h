#pragma once

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "worker/nn/buffers.h"

namespace weir::nn {

/// The operations of the tutorial's CNN at batch 256, each alone, in every layout and
/// implementation that there is for it but the reference ones: oneDNN's, and weir's own where there
/// is one. Each works on memory of its own, which this object holds.
class BarePrimitives {
 public:
  struct Candidate {
    std::string operation;       ///< "conv forward"
    std::string implementation;  ///< "nChw8c jit:avx2", "weir nChw8c"
    bool is_onednn;
    std::function<void()> run;
  };

  /// Sized for one thread.
  BarePrimitives();
  const std::vector<Candidate>& all() const { return candidates_; }

 private:
  using Arguments = std::unordered_map<int, dnnl::memory>;

  dnnl::memory New(const dnnl::memory::desc& desc);
  void Add(const std::string& operation, const std::string& layout,
           const dnnl::primitive_desc_base& desc, const dnnl::primitive& primitive,
           const Arguments& arguments);
  void AddConvolution(const std::string& layout, dnnl::memory::format_tag tag);
  void AddPooling(const std::string& layout, dnnl::memory::format_tag tag);
  void AddInnerProduct(const std::string& name, dnnl::memory::dim in, dnnl::memory::dim out,
                       const std::string& layout, dnnl::memory::format_tag kernel_tag);
  void AddMatmul(const std::string& name, dnnl::memory::dim in, dnnl::memory::dim out);
  void AddOwn();

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::mt19937 random_{5};
  Buffers buffers_;  // as the model's: in huge pages
  std::vector<Candidate> candidates_;
};

}  // namespace weir::nn
