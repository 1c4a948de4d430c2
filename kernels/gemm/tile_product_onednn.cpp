// SPDX-License-Identifier: Apache-2.0
#include <dnnl.hpp>
#include <map>
#include <string>
#include <utility>

#include "kernels/gemm/tile_product.hpp"

namespace underlap::kernels {
namespace {

/// oneDNN's bf16 product of one shape. Each call points its memory objects at a tile's data.
struct PreparedTile {
  dnnl::matmul primitive;
  dnnl::memory a, b, c;
};

/// oneDNN's primitives own scratch memory, so each thread has its own.
struct ThreadContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<std::pair<TileShape<bf16>, bool>, PreparedTile> prepared;
};

PreparedTile prepare(const TileShape<bf16>& shape, bool accumulate, const dnnl::engine& engine) {
  dnnl::primitive_attr attributes;
  if (accumulate) {
    dnnl::post_ops add_to_c;
    add_to_c.append_sum(1.0F);
    attributes.set_post_ops(add_to_c);
  }
  using Type = dnnl::memory::data_type;
  const auto describe = [](std::int64_t rows, std::int64_t cols, Type type, bool transposed, std::int64_t ld) {
    const dnnl::memory::dims strides = transposed ? dnnl::memory::dims{1, ld} : dnnl::memory::dims{ld, 1};
    return dnnl::memory::desc({rows, cols}, type, strides);
  };
  const auto a = describe(Tile<bf16>::kRows, shape.depth, Type::bf16, shape.transpose_a, shape.lda());
  const auto b = describe(shape.depth, Tile<bf16>::kCols, Type::bf16, shape.transpose_b, shape.ldb());
  const auto c = describe(Tile<bf16>::kRows, Tile<bf16>::kCols, Type::f32, false, Tile<bf16>::kCols);
  const dnnl::matmul::primitive_desc how(dnnl::matmul::desc(a, b, c), attributes, engine);
  return {dnnl::matmul(how), dnnl::memory(a, engine, nullptr), dnnl::memory(b, engine, nullptr),
          dnnl::memory(c, engine, nullptr)};
}

}  // namespace

void multiply_tile(const TileShape<float>& shape, const float* a, const float* b, float* c, bool accumulate) {
  constexpr std::int64_t kRows = Tile<float>::kRows, kCols = Tile<float>::kCols;
  dnnl::sgemm(shape.transpose_a ? 'T' : 'N', shape.transpose_b ? 'T' : 'N', kRows, kCols, shape.depth, 1.0F, a,
              shape.lda(), b, shape.ldb(), accumulate ? 1.0F : 0.0F, c, kCols);
}

void multiply_tile(const TileShape<bf16>& shape, bf16* a, bf16* b, float* c, bool accumulate) {
  thread_local ThreadContext context;
  auto found = context.prepared.find({shape, accumulate});
  if (found == context.prepared.end())
    found = context.prepared.emplace(std::pair(shape, accumulate), prepare(shape, accumulate, context.engine)).first;
  PreparedTile& tile = found->second;
  tile.a.set_data_handle(a);
  tile.b.set_data_handle(b);
  tile.c.set_data_handle(c);
  tile.primitive.execute(context.stream, {{DNNL_ARG_SRC, tile.a}, {DNNL_ARG_WEIGHTS, tile.b}, {DNNL_ARG_DST, tile.c}});
  context.stream.wait();
}

// oneDNN's number of an instruction set has one bit for each set that it includes.
bool multiplies_bf16() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto bf16_isa = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  return (isa & bf16_isa) == bf16_isa;
}

std::string onednn_version() {
  const dnnl::version_t* version = dnnl::version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

}  // namespace underlap::kernels
