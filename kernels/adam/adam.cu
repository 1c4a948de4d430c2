// SPDX-License-Identifier: Apache-2.0
//
// AdamW on a shard of the optimizer's state, element by element.
//
//   bytes an element | grad 2 or 4 read | main 4, m 4, v 4 read and written | param 2 written |   28 or 30 in all
//
// Bound by memory: 15 flops an element, including an exact root and an exact division. One group of 8 is in flight,
// which is already 7 or 8 loads of 16 bytes. Everything that depends only on the step is in AdamCoefficients, computed
// on the host in fp64. The device reads grad_factor, which it may have just computed (clipping), so the host need not
// wait.
//
// Bitwise equal to the CPU, and a shard is bitwise equal to the slice of the whole: the operations and their order are
// the same, and no operation is contracted or approximate.
#include <array>
#include <cfloat>

#include "kernels/adam/adam_parameters.hpp"
#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

using kernels::AdamCoefficients;

template <class Gradient>
struct AdamArrays {
  const Gradient* grad;
  const float* grad_factor;
  float *main, *m, *v;
  bf16* param;  ///< nullptr: not wanted
  std::int32_t* nonfinite;
};

/// N elements of what is updated.
template <int N>
struct AdamState {
  Group<float, N> main, m, v;
};

template <class Gradient, int N>
struct AdamLoaded {
  Group<Gradient, N> grad;
  AdamState<N> state;
};

/// Updates element i of `s`, or keeps it; returns whether its gradient was finite. The comparison is false for NaN too.
template <int N>
__device__ bool update(AdamState<N>& s, int i, float g, const AdamCoefficients& c) {
  const bool finite = fabsf(g) <= FLT_MAX;
  const float mean = c.beta1 * s.m.element[i] + c.rest1 * g;
  const float square = c.beta2 * s.v.element[i] + c.rest2 * g * g;
  const float change = c.step_size * mean / (sqrtf(square) * c.root_factor + c.eps);
  const float updated = s.main.element[i] * c.decay - change;
  s.m.element[i] = finite ? mean : s.m.element[i];
  s.v.element[i] = finite ? square : s.v.element[i];
  s.main.element[i] = finite ? updated : s.main.element[i];
  return finite;
}

/// All loads of a group come first, then 8 updates, then all stores.
template <class Gradient, int N>
__global__ void adam_kernel(AdamArrays<Gradient> a, std::int64_t elements, AdamCoefficients c) {
  const float factor = *a.grad_factor;
  for_each_group<N, 1>(
      1, elements,
      [&](auto n, std::int64_t, std::int64_t i) {
        return AdamLoaded<Gradient, n()>{load<n()>(a.grad + i),
                                         {load<n()>(a.main + i), load<n()>(a.m + i), load<n()>(a.v + i)}};
      },
      [&](auto n, std::int64_t, std::int64_t i, auto loaded) {
        AdamState<n()>& state = loaded.state;
        Group<bf16, n()> param;
        bool all_finite = true;
        for (int k = 0; k < n(); ++k) {
          all_finite &= update(state, k, static_cast<float>(loaded.grad.element[k]) * factor, c);
          param.element[k] = narrowed<bf16>(state.main.element[k]);
        }
        store(a.main + i, state.main);
        store(a.m + i, state.m);
        store(a.v + i, state.v);
        if (a.param != nullptr) store(a.param + i, param);
        if (!all_finite) *a.nonfinite = 1;  // all writers write the same value
      });
}

void adam_cuda(const Arguments& views, LaunchContext& context) {
  with_float_type(views[0].dtype, [&]<class Gradient>(Gradient*) {
    const auto grad = rows_of<const Gradient>(views[0]);
    const auto main = rows_of<float>(views[2]), m = rows_of<float>(views[3]), v = rows_of<float>(views[4]);
    const auto param = views.size() > 6 ? rows_of<bf16>(views[6]) : Rows<bf16>{.cols = grad.cols};
    const int group = group_for(8, grad, main, m, v, param);
    const AdamArrays<Gradient> arrays{.grad = grad.data,
                                      .grad_factor = views[1].as<const float>(),
                                      .main = main.data,
                                      .m = m.data,
                                      .v = v.data,
                                      .param = param.data,
                                      .nonfinite = views[5].as<std::int32_t>()};
    launch(group == 1 ? adam_kernel<Gradient, 1> : adam_kernel<Gradient, 8>, blocks_of_groups(1, grad.cols, group, 1),
           context.stream, arrays, grad.cols, AdamCoefficients(views.parameters<kernels::AdamParameters>()));
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_adam() {
  static constexpr std::array<CudaImplementationInfo, 1> all{{{"adam", adam_cuda}}};
  return all;
}

}  // namespace underlap::cuda
