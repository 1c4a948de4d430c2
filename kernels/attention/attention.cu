// SPDX-License-Identifier: Apache-2.0
//
// Causal attention in fp32, for any head size up to 256 and any alignment: the reference for comparing numerics. It
// uses no tensor core; where speed matters, cuDNN does the work.
//
// A block owns 16 rows: queries in forward and for dq, keys for dk and dv. Tiles of 16 rows of the other side pass
// through shared memory one after the other, up to or from the diagonal, if there is one:
//
//              keys                                      a block's threads
//   queries | T T . . |   T: a tile of 16 x 16           thread t: row t / 8 of the block's own,
//           | T T T . |   .: never touched                         columns t % 8, t % 8 + 8, ... of the head
//
// Forward, for each tile of keys and values:
//
//   load      | both tiles to shared memory, widened to fp32; neighboring threads, neighboring columns    | barrier
//   scores    | thread t: query t / 8 with keys t % 8 and t % 8 + 8; -infinity where it does not see one   | barrier
//   softmax   | the row's largest so far, exp(score - largest), their sum; what older sums must shrink by  | barriers
//   sum       | thread t: its columns of row t / 8, in registers, += probability * value
//
// Backward computes probabilities again from lse, twice: once in a kernel that owns queries and adds up dq, once in one
// that owns keys and adds up dk and dv. That makes seven products of tiles where five would do, but every sum has one
// owner and one order, without atomics: results do not change from run to run.
//
// Bound by shared memory: an inner product reads two floats for each multiplication. Costs 4 D flops for a pair of
// query and key in forward, 10 D in backward. Source: Dao et al. 2022 (FlashAttention) for tiles and the softmax that
// grows.
#include <array>
#include <cmath>
#include <limits>

#include "kernels/attention/attention_parameters.hpp"
#include "kernels/attention/cudnn_attention.hpp"
#include "kernels/cuda/elements.cuh"

namespace underlap::cuda {
namespace {

constexpr int kTile = 16;  // rows; with head size 256 four tiles in fp32 are 64 KiB, which sm_80 and later have
constexpr int kLanes = 8;  // threads of a row, all in one warp
constexpr int kThreads = kTile * kLanes;
constexpr int kMaxHeadSize = 256;  // of which a thread keeps 32 columns in registers

/// Rows of one sequence in a tensor.
struct Stretch {
  std::int64_t start = 0;
  std::int64_t length = 0;
};

/// The sizes of one call.
struct Heads {
  std::int64_t seq_length = 0;
  std::int64_t kv_length = 0;
  std::int64_t tokens = 0;  ///< queries
  int head_size = 0;
  int heads = 0;
  int groups = 0;
  bool causal = true;
  float scale = 0;

  __host__ __device__ int heads_per_group() const { return heads / groups; }
  __device__ Stretch queries(std::int64_t sequence) const { return {sequence * seq_length, seq_length}; }
  __device__ Stretch keys(std::int64_t sequence) const { return {sequence * kv_length, kv_length}; }
  /// The last key that a query sees, by their positions in the sequence.
  __device__ std::int64_t last_key(std::int64_t query) const {
    return causal ? query + kv_length - seq_length : kv_length - 1;
  }
  /// The first query that sees a key.
  __device__ std::int64_t first_query(std::int64_t key) const {
    const std::int64_t seen_by_all = causal ? kv_length - seq_length : kv_length;
    return key < seen_by_all ? 0 : key - seen_by_all;
  }
};

/// 16 rows of one head in shared memory. One float of padding keeps rows apart in the banks.
struct Tile {
  float* data = nullptr;
  int stride = 0;

  __device__ float* row(int r) const { return data + r * stride; }
};

__host__ __device__ std::int64_t tiles_of(std::int64_t rows) { return (rows + kTile - 1) / kTile; }

/// What a block of `columns` heads or groups does: which sequence, which head or group, which tile of `rows` rows.
struct Place {
  std::int64_t sequence = 0;
  std::int64_t first = 0;  ///< position of the block's first row in its sequence
  int column = 0;          ///< head or group

  __device__ Place(std::int64_t rows, int columns) {
    const std::int64_t tiles = tiles_of(rows);
    first = blockIdx.x % tiles * kTile;
    column = static_cast<int>(blockIdx.x / tiles % columns);
    sequence = blockIdx.x / tiles / columns;
  }
};

__device__ int own_row() { return static_cast<int>(threadIdx.x) / kLanes; }
__device__ int own_lane() { return static_cast<int>(threadIdx.x) % kLanes; }

/// The `index`-th tile of the block's dynamic shared memory.
__device__ Tile shared_tile(const Heads& shape, int index) {
  const int stride = shape.head_size + 1;
  return {reinterpret_cast<float*>(dynamic_shared_memory()) + index * kTile * stride, stride};
}

/// Widens rows of a sequence from position `first` on, one head's columns, times `factor`. Rows past the sequence are
/// zero.
__device__ void load(const Tile& to, const Rows<bf16>& from, int head_size, const Stretch& sequence, std::int64_t first,
                     int column, float factor = 1) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * head_size; i += kThreads) {
    const int r = i / head_size, d = i % head_size;
    const bool inside = first + r < sequence.length;
    const auto at = static_cast<std::int64_t>(column) * head_size + d;
    to.row(r)[d] = inside ? static_cast<float>(*from.at(sequence.start + first + r, at)) * factor : 0.0F;
  }
}

/// One thread's inner product of two rows of shared memory. The 8 threads of a query read its row at the same place,
/// which is one access; the keys' rows lie a float more than the head apart, so in different banks.
__device__ float dot(const float* a, const float* b, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = __fmaf_rn(a[i], b[i], sum);
  return sum;
}

/// One row of a result: this thread's columns of it.
template <int kColumns>
struct OwnColumns {
  float value[kColumns] = {};

  __device__ void scale(float factor) {
#pragma unroll
    for (int i = 0; i < kColumns; ++i) value[i] *= factor;
  }

  /// += the sum of weights[j * step] * rows[j].
  __device__ void add(const float* weights, int step, const Tile& rows, int head_size) {
    for (int j = 0; j < kTile; ++j) {
      const float weight = weights[j * step];
      const float* const row = rows.row(j);
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int d = own_lane() + i * kLanes;
        if (d < head_size) value[i] = __fmaf_rn(weight, row[d], value[i]);
      }
    }
  }

  __device__ void store(const Rows<bf16>& to, int head_size, const Stretch& sequence, const Place& place,
                        float factor) const {
    const std::int64_t position = place.first + own_row();
    if (position >= sequence.length) return;
    bf16* const row = to.at(sequence.start + position, static_cast<std::int64_t>(place.column) * head_size);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int d = own_lane() + i * kLanes;
      if (d < head_size) row[d] = bf16(value[i] * factor);
    }
  }
};

/// Scores or probabilities, [query][key]. Padded because dk and dv read it by columns.
using Square = float[kTile][kTile + 1];

/// The largest score and the sum of exponentials of one query so far. All threads of a row hold the same.
struct Softmax {
  float largest = -std::numeric_limits<float>::infinity();
  float total = 0;

  /// Takes in a row of scores, which become exp(score - largest); returns what older sums are to be multiplied by.
  /// All threads of the block call it.
  __device__ float take_in(float* scores) {
    float now = largest;
    for (int j = 0; j < kTile; ++j) now = fmaxf(now, scores[j]);
    __syncthreads();  // everybody has read the scores
    for (int j = own_lane(); j < kTile; j += kLanes) scores[j] = expf(scores[j] - now);
    __syncthreads();
    const float factor = expf(largest - now);  // 0 for the first tile, in which every query sees its first key
    total *= factor;
    for (int j = 0; j < kTile; ++j) total += scores[j];
    largest = now;
    return factor;
  }
};

/// One past the last key that the tile of queries from `first_query` on sees.
__device__ std::int64_t key_end(const Heads& shape, std::int64_t first_query) {
  const std::int64_t last = first_query + kTile - 1;
  return shape.last_key(last < shape.seq_length ? last : shape.seq_length - 1) + 1;
}

/// Scores have the scale in them: queries are multiplied by it as they are loaded. Rows past the sequence compute
/// along, so that barriers are met by all, and are not stored.
template <int kColumns>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Heads shape, Rows<bf16> q, Rows<bf16> k, Rows<bf16> v, Rows<bf16> out, Rows<float> lse) {
  __shared__ Square scores;
  const Place place(shape.seq_length, shape.heads);
  const Stretch query_rows = shape.queries(place.sequence), key_rows = shape.keys(place.sequence);
  const int group = place.column / shape.heads_per_group();
  const Tile queries = shared_tile(shape, 0), keys = shared_tile(shape, 1), values = shared_tile(shape, 2);
  const std::int64_t query = place.first + own_row();
  float* const own_scores = scores[own_row()];
  Softmax softmax;
  OwnColumns<kColumns> sum;
  load(queries, q, shape.head_size, query_rows, place.first, place.column, shape.scale);
  for (std::int64_t first = 0; first < key_end(shape, place.first); first += kTile) {
    __syncthreads();  // the tile before is done with
    load(keys, k, shape.head_size, key_rows, first, group);
    load(values, v, shape.head_size, key_rows, first, group);
    __syncthreads();
    for (int j = own_lane(); j < kTile; j += kLanes)
      own_scores[j] = first + j <= shape.last_key(query) ? dot(queries.row(own_row()), keys.row(j), shape.head_size)
                                                         : -std::numeric_limits<float>::infinity();
    __syncthreads();
    sum.scale(softmax.take_in(own_scores));
    sum.add(own_scores, 1, values, shape.head_size);
  }
  sum.store(out, shape.head_size, query_rows, place, 1 / softmax.total);
  if (own_lane() == 0 && query < shape.seq_length)
    *lse.at(place.column, query_rows.start + query) = softmax.largest + logf(softmax.total);
}

/// delta [heads, tokens]: the inner product of out and dout of each query and head. It is the sum over keys of p * dp,
/// which the gradient of a softmax subtracts, without a pass over the keys.
__global__ void delta_kernel(Heads shape, Rows<bf16> out, Rows<bf16> dout, float* delta) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= shape.tokens * shape.heads) return;
  const std::int64_t token = i % shape.tokens, column = i / shape.tokens * shape.head_size;
  const bf16 *const a = out.at(token, column), *const b = dout.at(token, column);
  float sum = 0;
  for (int d = 0; d < shape.head_size; ++d) sum = __fmaf_rn(static_cast<float>(a[d]), static_cast<float>(b[d]), sum);
  delta[i] = sum;
}

/// What the backward kernels read.
struct BackwardInputs {
  Rows<bf16> q, k, v, dout;
  Rows<float> lse;
  const float* delta = nullptr;  ///< [heads, tokens]
};

/// Fills a tile of probabilities and of the scores' gradients, [query][key], for queries and keys of one sequence from
/// the given positions on: p = exp(score - lse), ds = p (dout v^T - delta). Both are 0 where a query does not see a
/// key. All threads of the block call it, and pass a barrier before any thread reads another row.
__device__ void differentiate(const BackwardInputs& in, const Heads& shape, const Stretch& query_rows, int head,
                              std::int64_t first_query, std::int64_t first_key, Square& p, Square& ds) {
  const Tile queries = shared_tile(shape, 0), douts = shared_tile(shape, 1);
  const Tile keys = shared_tile(shape, 2), values = shared_tile(shape, 3);
  const int r = own_row();
  const std::int64_t query = first_query + r;
  const bool inside = query < shape.seq_length;
  const float lse = inside ? *in.lse.at(head, query_rows.start + query) : 0.0F;
  const float delta = inside ? in.delta[head * shape.tokens + query_rows.start + query] : 0.0F;
  for (int j = own_lane(); j < kTile; j += kLanes) {
    const bool sees = inside && first_key + j <= shape.last_key(query);
    p[r][j] = sees ? expf(dot(queries.row(r), keys.row(j), shape.head_size) - lse) : 0.0F;
    ds[r][j] = sees ? p[r][j] * (dot(douts.row(r), values.row(j), shape.head_size) - delta) : 0.0F;
  }
}

/// dq = scale * ds k: a block walks the keys that its queries see.
template <int kColumns>
__global__ void __launch_bounds__(kThreads) dq_kernel(Heads shape, BackwardInputs in, Rows<bf16> dq) {
  __shared__ Square p, ds;
  const Place place(shape.seq_length, shape.heads);
  const Stretch query_rows = shape.queries(place.sequence), key_rows = shape.keys(place.sequence);
  const int group = place.column / shape.heads_per_group();
  const Tile queries = shared_tile(shape, 0), douts = shared_tile(shape, 1);
  const Tile keys = shared_tile(shape, 2), values = shared_tile(shape, 3);
  OwnColumns<kColumns> sum;
  load(queries, in.q, shape.head_size, query_rows, place.first, place.column, shape.scale);
  load(douts, in.dout, shape.head_size, query_rows, place.first, place.column);
  for (std::int64_t first = 0; first < key_end(shape, place.first); first += kTile) {
    __syncthreads();  // the tile before is done with
    load(keys, in.k, shape.head_size, key_rows, first, group);
    load(values, in.v, shape.head_size, key_rows, first, group);
    __syncthreads();
    differentiate(in, shape, query_rows, place.column, place.first, first, p, ds);
    __syncthreads();
    sum.add(ds[own_row()], 1, keys, shape.head_size);
  }
  sum.store(dq, shape.head_size, query_rows, place, shape.scale);
}

/// dk = ds^T (scale * q), dv = p^T dout: a block walks the queries that see its keys, those of one head of the group
/// after the other, and reads p and ds by columns.
template <int kColumns>
__global__ void __launch_bounds__(kThreads) dk_dv_kernel(Heads shape, BackwardInputs in, Rows<bf16> dk, Rows<bf16> dv) {
  __shared__ Square p, ds;
  const Place place(shape.kv_length, shape.groups);
  const Stretch query_rows = shape.queries(place.sequence), key_rows = shape.keys(place.sequence);
  const Tile queries = shared_tile(shape, 0), douts = shared_tile(shape, 1);
  const Tile keys = shared_tile(shape, 2), values = shared_tile(shape, 3);
  OwnColumns<kColumns> key_sum, value_sum;
  load(keys, in.k, shape.head_size, key_rows, place.first, place.column);
  load(values, in.v, shape.head_size, key_rows, place.first, place.column);
  const int first_head = place.column * shape.heads_per_group();
  for (int head = first_head; head < first_head + shape.heads_per_group(); ++head)
    for (std::int64_t first = shape.first_query(place.first); first < shape.seq_length; first += kTile) {
      __syncthreads();  // the tile before is done with
      load(queries, in.q, shape.head_size, query_rows, first, head, shape.scale);
      load(douts, in.dout, shape.head_size, query_rows, first, head);
      __syncthreads();
      differentiate(in, shape, query_rows, head, first, place.first, p, ds);
      __syncthreads();
      key_sum.add(&ds[0][own_row()], kTile + 1, queries, shape.head_size);
      value_sum.add(&p[0][own_row()], kTile + 1, douts, shape.head_size);
    }
  key_sum.store(dk, shape.head_size, key_rows, place, 1);
  value_sum.store(dv, shape.head_size, key_rows, place, 1);
}

Heads heads_of(const Arguments& views) {
  const auto parameters = views.parameters<kernels::AttentionParameters>();
  if (parameters.head_size > kMaxHeadSize)
    refuse("attention without cuDNN supports head sizes up to 256", parameters.head_size);
  return {.seq_length = parameters.seq_length,
          .kv_length = parameters.kv_length,
          .tokens = views[0].rows,
          .head_size = static_cast<int>(parameters.head_size),
          .heads = static_cast<int>(views[0].cols / parameters.head_size),
          .groups = static_cast<int>(views[1].cols / parameters.head_size),
          .causal = parameters.causal,
          .scale = 1.0F / std::sqrt(static_cast<float>(parameters.head_size))};
}

/// A block for each tile of `rows` rows of each sequence and of `columns` heads or groups, with `tiles` tiles of shared
/// memory.
LaunchShape launch_shape(const Heads& shape, std::int64_t rows, int columns, int tiles) {
  return {.blocks = static_cast<unsigned>(shape.tokens / shape.seq_length * columns * tiles_of(rows)),
          .threads = kThreads,
          .shared_bytes = sizeof(float) * static_cast<std::size_t>(tiles * kTile * (shape.head_size + 1))};
}

/// Calls `body` with the number of columns that a thread has of a head of this size, as a template argument.
template <class Body>
void with_columns(int head_size, Body body) {
  if (head_size <= 64) return body.template operator()<64 / kLanes>();
  if (head_size <= 128) return body.template operator()<128 / kLanes>();
  body.template operator()<kMaxHeadSize / kLanes>();
}

void forward_cuda(const Arguments& views, LaunchContext& context) {
  if (context.attention != nullptr) return context.attention->forward(views, context);
  const Heads shape = heads_of(views);
  with_columns(shape.head_size, [&]<int kColumns>() {
    launch(forward_kernel<kColumns>, launch_shape(shape, shape.seq_length, shape.heads, 3), context.stream, shape,
           rows_of<bf16>(views[0]), rows_of<bf16>(views[1]), rows_of<bf16>(views[2]), rows_of<bf16>(views[3]),
           rows_of<float>(views[4]));
  });
}

void backward_cuda(const Arguments& views, LaunchContext& context) {
  if (context.attention != nullptr) return context.attention->backward(views, context);
  const Heads shape = heads_of(views);
  const std::int64_t rows = shape.tokens * shape.heads;
  auto* const delta = reinterpret_cast<float*>(context.workspace->take(rows * size_of(DataType::f32)));
  const BackwardInputs in{.q = rows_of<bf16>(views[0]),
                          .k = rows_of<bf16>(views[1]),
                          .v = rows_of<bf16>(views[2]),
                          .dout = rows_of<bf16>(views[5]),
                          .lse = rows_of<float>(views[4]),
                          .delta = delta};
  launch(delta_kernel, {.blocks = blocks_for(rows, kThreads), .threads = kThreads}, context.stream, shape,
         rows_of<bf16>(views[3]), in.dout, delta);
  with_columns(shape.head_size, [&]<int kColumns>() {
    launch(dq_kernel<kColumns>, launch_shape(shape, shape.seq_length, shape.heads, 4), context.stream, shape, in,
           rows_of<bf16>(views[6]));
    launch(dk_dv_kernel<kColumns>, launch_shape(shape, shape.kv_length, shape.groups, 4), context.stream, shape, in,
           rows_of<bf16>(views[7]), rows_of<bf16>(views[8]));
  });
}

}  // namespace

std::span<const CudaImplementationInfo> list_cuda_attention() {
  static constexpr std::array<CudaImplementationInfo, 2> all{{
      {"attention_forward", forward_cuda},
      {"attention_backward", backward_cuda},
  }};
  return all;
}

}  // namespace underlap::cuda
