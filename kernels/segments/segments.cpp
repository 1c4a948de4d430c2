// SPDX-License-Identifier: Apache-2.0
//
// One walk over the segments, each of which gets the elements between its border and the next. A border is the start of
// a segment, clamped to the stretch. So segments before the stretch and after it are empty, and the first one also gets
// what is before it. Magnitudes and conversions are those of quantize.cpp.
#include "kernels/segments/segments.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/fp8.hpp"
#include "kernels/registry.hpp"
#include "kernels/shapes.hpp"

namespace underlap::kernels {
namespace {

/// Calls f(s, begin, end) for each segment that overlaps the stretch of `elements` elements, in elements of the
/// stretch.
template <class F>
void for_each_segment(const Arguments& views, std::int64_t elements, F f) {
  const BoundView& begins = views[1];
  const std::int64_t first = views.parameters<std::int64_t>();
  const auto border = [&](std::int64_t s) {
    if (s <= 0) return std::int64_t{0};
    if (s == begins.cols) return elements;
    return std::clamp(begins.as<const std::int32_t>()[s] * kSegmentUnit - first, std::int64_t{0}, elements);
  };
  for (std::int64_t s = 0; s < begins.cols; ++s)
    if (border(s) < border(s + 1)) f(s, border(s), border(s + 1));
}

void amax_cpu(const Arguments& views) {
  const auto* const x = views[0].as<const std::uint32_t>();
  auto* const out = views[2].as<std::uint32_t>();
  // Magnitudes compare as their bits do, and every NaN lies above infinity.
  for_each_segment(views, views[0].cols, [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
    std::uint32_t largest = out[s];
    for (std::int64_t i = begin; i < end; ++i) largest = std::max(largest, x[i] & 0x7FFFFFFFU);
    out[s] = largest;
  });
}

void quantize_cpu(const Arguments& views) {
  const auto* const x = views[0].as<const float>();
  with_fp8_type(views[3].dtype, [&]<class To>(To*) {
    To* const q = views[3].as<To>();
    for_each_segment(views, views[0].cols, [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
      const float scale = 1.0F / *views[2].row<const float>(s);
      for (std::int64_t i = begin; i < end; ++i) q[i] = To(x[i] * scale);
    });
  });
}

void check(const char* name, const Segments& segments) {
  require(name, segments.first >= 0, "first", static_cast<double>(segments.first), "at least 0");
}

}  // namespace

Operation segmented_amax(const View& x, const Segments& segments, const View& out) {
  static const NameId name = intern("segmented_amax");
  const View& begins = segments.begins;
  check("segmented_amax", segments);
  return make_operation(name, amax_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", 1, x.cols, {DataType::f32}}},
                         {begins, Access::in, {"begins", 1, begins.cols, {DataType::i32}}},
                         {out, Access::inout, {"out", 1, begins.cols, {DataType::f32}}}})
      .with_parameters<std::int64_t>(segments.first);
}

Operation segmented_quantize(const View& x, const Segments& segments, const View& inverse_scales, const View& q) {
  static const NameId name = intern("segmented_quantize");
  const View& begins = segments.begins;
  check("segmented_quantize", segments);
  return make_operation(name, quantize_cpu, {.flops = static_cast<double>(x.elements())},
                        {{x, Access::in, {"x", 1, x.cols, {DataType::f32}}},
                         {begins, Access::in, {"begins", 1, begins.cols, {DataType::i32}}},
                         {inverse_scales, Access::in, {"inverse_scales", begins.cols, 1, {DataType::f32}}},
                         {q, Access::out, {"q", 1, x.cols, {DataType::f8e4m3, DataType::f8e5m2}}}})
      .with_parameters<std::int64_t>(segments.first);
}

std::span<const KernelInfo> list_segments() {
  static constexpr std::array<KernelInfo, 2> kernels{{
      {"segments", "segmented_amax", "out [1,k] = max(out, largest |x| of each of k segments), x [1,n] f32",
       "n flops; x once"},
      {"segments", "segmented_quantize", "q [1,n] = x / inverse_scales [k,1] of its segment, in fp8",
       "n flops; x and q once"},
  }};
  return kernels;
}

}  // namespace underlap::kernels
