// SPDX-License-Identifier: Apache-2.0
#include "impl/model/norm_gradients.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/copy/copy.hpp"

namespace underlap::model {
namespace {

// A table of positions takes in the gradients of all tokens.
bool is_of_own_tokens(const plan::Parameter& parameter) {
  return std::ranges::any_of(std::array{"norm", "norm_bias", "proj_bias", "fc2_bias"},
                             [&](std::string_view end) { return parameter.name.ends_with(end); });
}

}  // namespace

NormGradients::NormGradients(tp::Communicators& communicators, std::span<const dp::Buffers* const> chunks)
    : collectives_(communicators) {
  std::int64_t elements = 0;
  for (const dp::Buffers* buffers : chunks)
    for (std::size_t p = 0; p < buffers->parameters.size(); ++p) {
      if (!is_of_own_tokens(buffers->parameters[p])) continue;
      gradients_.push_back(buffers->main_grad(static_cast<std::int32_t>(p)));
      elements += gradients_.back().elements();
    }
  flat_ = communicators.device().allocate("norm_gradients", chunks.front()->grads.dtype, elements);
}

void NormGradients::all_reduce(const Enqueue& outer) const {
  static const NameId kCopy = intern("norm_grad_copy");
  static const NameId kAllReduce = intern("norm_grad_all_reduce");
  Enqueue enqueue = outer;
  enqueue.tag.kind = Kind::copy;
  enqueue.tag.mode = Mode::tp;
  std::int64_t offset = 0;
  for (std::span<const View> left = gradients_; !left.empty();) {
    const auto pieces = left.first(std::min(left.size(), kernels::kMaxPieces));
    std::int64_t elements = 0;
    for (const View& piece : pieces) elements += piece.elements();
    enqueue(kCopy, kernels::concatenate(pieces, flat(flat_, offset, elements)));
    offset += elements;
    left = left.subspan(pieces.size());
  }
  collectives_.all_reduce(outer.tag, kAllReduce, flat(flat_));
  offset = 0;
  for (const View& gradient : gradients_) {
    enqueue(kCopy, kernels::copy(flat(flat_, offset, gradient.elements()), gradient));
    offset += gradient.elements();
  }
}

}  // namespace underlap::model
