// SPDX-License-Identifier: Apache-2.0
#include "impl/tp/fp8_parts.hpp"

#include "kernels/elementwise/elementwise.hpp"
#include "kernels/quantize/quantize.hpp"

namespace underlap::tp {

Fp8Parts::Fp8Parts(const Context& context, std::int64_t num, std::int64_t num_cast, std::int64_t rows,
                   std::int64_t cols)
    : device_(context.communicators->device()),
      rows_(rows),
      cols_(cols),
      amax_(context.purpose("amax")),
      quantize_(context.purpose("quantize")) {
  const auto streams = static_cast<std::int64_t>(Communicators::kNumGemmStreams);
  products_ = device_.allocate(context.slot, DataType::bf16, streams * rows * cols);
  values_ = device_.allocate(context.slot, context.dtype, num * rows * cols);
  amaxes_ = device_.allocate(context.slot, DataType::f32, num_cast);
  inverse_scales_ = device_.allocate(context.slot, DataType::f32, num);
}

View Fp8Parts::values(std::int64_t i, std::int64_t num) const {
  return matrix(values_, num * rows_, cols_, i * rows_ * cols_);
}

View Fp8Parts::inverse_scales(std::int64_t i, std::int64_t num) const { return flat(inverse_scales_, i, num); }

View Fp8Parts::product(std::size_t stream) const {
  return matrix(products_, rows_, cols_, static_cast<std::int64_t>(stream) * rows_ * cols_);
}

void Fp8Parts::cast(const Tag& tag, Stream on, std::size_t stream, std::int64_t i) const {
  const auto launch = [&](NameId purpose, const Operation& operation) {
    Tag own = tag;
    own.mode = Mode::tp;
    own.purpose = purpose;
    device_.launch(on, own, operation);
  };
  const View amax = flat(amaxes_, i, 1);
  launch(amax_, kernels::fill(amax, 0));
  launch(amax_, kernels::amax(product(stream), amax));
  launch(amax_, kernels::fp8_scale(amax, inverse_scales(i), values_.dtype));
  launch(quantize_, kernels::quantize(product(stream), inverse_scales(i), values(i)));
}

}  // namespace underlap::tp
