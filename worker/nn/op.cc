#include "worker/nn/op.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "common/base/log.h"

namespace weir::nn {

using Tag = dnnl::memory::format_tag;

void Builder::WarnOfReference(const dnnl::primitive_desc_base& desc, absl::string_view what) const {
  if (!warns_ || !IsReference(desc)) return;
  LogWarning("layer '", layer_, "': for its ", what, " oneDNN has only ", desc.impl_info_str(),
             " on this processor, which is about a hundred times slower than usual; other numbers "
             "of channels (multiples of 8) may help");
}

dnnl::memory Builder::NewMemory(const dnnl::memory::desc& desc) {
  return {desc, engine_, buffers_.Take(desc.get_size())};
}

dnnl::memory Builder::Unbound(const dnnl::memory::desc& desc) const {
  return {desc, engine_, DNNL_MEMORY_NONE};
}

dnnl::memory Builder::Scratchpad(const dnnl::memory::desc& desc) {
  scratchpads_.push_back(Unbound(desc));
  return scratchpads_.back();
}

void Builder::BindScratchpads() {
  std::size_t bytes = 0;
  for (const auto& pad : scratchpads_) bytes = std::max(bytes, pad.get_desc().get_size());
  void* const address = buffers_.Take(bytes);
  for (const auto& pad : scratchpads_) pad.set_data_handle(address);
}

Call::Call(dnnl::primitive primitive, Arguments arguments) : primitive_(std::move(primitive)) {
  for (const auto& [index, memory] : arguments) {
    memories_.push_back(memory);
    arguments_.push_back({index, memory.get()});
  }
}

Call Call::Reorder(Builder& builder, const dnnl::memory& from, const dnnl::memory& to) {
  const dnnl::reorder::primitive_desc desc(builder.engine(), from.get_desc(), builder.engine(),
                                           to.get_desc(), Attributes());
  builder.WarnOfReference(desc, "change of layout");
  return Call(dnnl::reorder(desc),
              {{DNNL_ARG_FROM, from},
               {DNNL_ARG_TO, to},
               {DNNL_ARG_SCRATCHPAD, builder.Scratchpad(desc.scratchpad_desc())}});
}

void Call::Run(const dnnl::stream& stream) const {
  if (arguments_.empty()) return;
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive_.get(), stream.get(), static_cast<int>(arguments_.size()),
                             arguments_.data()),
      "could not run a primitive");
}

dnnl::primitive_attr Attributes(bool relu) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (relu) {
    dnnl::post_ops post_ops;
    post_ops.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    attributes.set_post_ops(post_ops);
  }
  return attributes;
}

bool IsReference(const dnnl::primitive_desc_base& desc) {
  return absl::StrContains(desc.impl_info_str(), "ref");
}

std::optional<Tag> TagOf(const dnnl::memory::desc& desc) {
  if (desc.dims().size() != 4) return std::nullopt;
  for (const Tag tag : {Tag::nChw16c, Tag::nChw8c, Tag::nchw, Tag::nhwc}) {
    if (desc == dnnl::memory::desc(desc.dims(), desc.data_type(), tag)) return tag;
  }
  return std::nullopt;
}

ImageLayout LayoutOf(const dnnl::memory::desc& desc, Tag tag) {
  const dnnl::memory::dims dims = desc.dims();
  ImageLayout layout{.height = dims[2], .width = dims[3], .channels = dims[1], .block = 1};
  if (tag == Tag::nChw16c) layout.block = 16;
  if (tag == Tag::nChw8c) layout.block = 8;
  if (tag == Tag::nhwc) layout.block = layout.channels;
  return layout;
}

void Bind(const dnnl::memory& memory, const float* address) {
  // oneDNN takes inputs as writable pointers too; it only reads them.
  void* const handle = const_cast<float*>(address);
  if (memory.get_data_handle() != handle) memory.set_data_handle(handle);
}

}  // namespace weir::nn
