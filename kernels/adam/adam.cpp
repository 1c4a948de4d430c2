// SPDX-License-Identifier: Apache-2.0
//
// One loop without branches, so that it is vectorized: whether a gradient is finite selects between new and old values,
// and is remembered in an integer for the flag at the end. Decay is that of AdamW, of the parameter and not by way of
// the gradient.
#include "kernels/adam/adam.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "kernels/adam/adam_parameters.hpp"
#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"
#include "kernels/vector_math.hpp"

namespace underlap::kernels {
namespace {

/// Updates n elements; returns whether a gradient was not finite.
template <bool kWritesParam, class Gradient>
bool update(const Gradient* grad, float grad_factor, float* main, float* m, float* v, bf16* param, std::int64_t n,
            const AdamCoefficients& c) {
  std::int32_t any_bad = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = static_cast<float>(grad[i]) * grad_factor;
    const bool finite = std::fabs(g) <= std::numeric_limits<float>::max();
    const float mean = c.beta1 * m[i] + c.rest1 * g;
    const float square = c.beta2 * v[i] + c.rest2 * g * g;
    const float change = c.step_size * mean / (std::sqrt(square) * c.root_factor + c.eps);
    const float updated = main[i] * c.decay - change;
    m[i] = finite ? mean : m[i];
    v[i] = finite ? square : v[i];
    main[i] = finite ? updated : main[i];
    if constexpr (kWritesParam) param[i] = bf16(main[i]);
    any_bad |= finite ? 0 : 1;
  }
  return any_bad != 0;
}

void adam_cpu(const Arguments& views) {
  const AdamCoefficients c(views.parameters<AdamParameters>());
  const float grad_factor = *views[1].as<float>();
  const bool writes_param = views.size() > 6;
  bf16* const param = writes_param ? views[6].as<bf16>() : nullptr;
  with_float_type(views[0].dtype, [&]<class T>(T*) {
    const auto update_all = writes_param ? update<true, T> : update<false, T>;
    const bool bad = update_all(views[0].as<T>(), grad_factor, views[2].as<float>(), views[3].as<float>(),
                                views[4].as<float>(), param, views[0].cols, c);
    if (bad) *views[5].as<std::int32_t>() = 1;
  });
}

void require_parameters(const char* operation, const AdamParameters& p) {
  require(operation, p.step >= 1, "step", static_cast<double>(p.step), "at least 1");
  require(operation, p.beta1 >= 0 && p.beta1 < 1, "beta1", p.beta1, "in [0, 1)");
  require(operation, p.beta2 >= 0 && p.beta2 < 1, "beta2", p.beta2, "in [0, 1)");
}

}  // namespace

Operation adam(const AdamTensors& t, const AdamParameters& parameters) {
  static const NameId name = intern("adam");
  const std::int64_t n = t.grad.cols;
  require_parameters("adam", parameters);
  const std::int64_t state = t.main.bytes() + t.m.bytes() + t.v.bytes();
  return make_operation(name, adam_cpu,
                        {.flops = 15 * static_cast<double>(n),
                         .bytes_read = t.grad.bytes() + t.grad_factor.bytes() + state,
                         .bytes_written = state + t.param.bytes()},
                        {{t.grad, Access::in, {"grad", 1, n, {DataType::f32, DataType::bf16}}},
                         {t.grad_factor, Access::in, {"grad_factor", 1, 1, {DataType::f32}}},
                         {t.main, Access::inout, {"main", 1, n, {DataType::f32}}},
                         {t.m, Access::inout, {"m", 1, n, {DataType::f32}}},
                         {t.v, Access::inout, {"v", 1, n, {DataType::f32}}},
                         {t.nonfinite, Access::inout, {"nonfinite", 1, 1, {DataType::i32}}},
                         {t.param, Access::out, {"param", 1, n, {DataType::bf16}}, true}})
      .with_parameters(parameters);
}

std::span<const KernelInfo> list_adam() {
  static constexpr std::array<KernelInfo, 1> kernels{{
      {"adam", "adam", "AdamW on n elements: main, m, v f32 updated, param = bf16(main)",
       "15 n flops; 26 n bytes and the gradient"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
