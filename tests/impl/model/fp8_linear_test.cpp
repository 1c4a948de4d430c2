// SPDX-License-Identifier: Apache-2.0
#include "impl/model/fp8_linear.hpp"

#include <cmath>
#include <random>

#include "impl/device/recording_device.hpp"
#include "impl/plan/layout/parameters.hpp"
#include "impl/plan/precision.hpp"
#include "kernels/bf16.hpp"
#include "kernels/elementwise/elementwise.hpp"
#include "kernels/fp8.hpp"
#include "tests/impl/device/ranks.hpp"

namespace underlap::model {
namespace {

constexpr std::int64_t kTokens = 32, kIn = 96, kOut = 64;

/// bf16 numbers and their exact values.
struct Values {
  std::vector<bf16> bits;
  std::vector<double> exact;

  Values(std::int64_t n, double deviation, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, deviation);
    for (std::int64_t i = 0; i < n; ++i) {
      bits.emplace_back(static_cast<float>(normal(random)));
      exact.push_back(static_cast<float>(bits.back()));
    }
  }
};

template <class T>
std::vector<double> read(Device& device, const View& view) {
  std::vector<double> result;
  for (const T value : testing_support::read<T>(device, view)) result.push_back(static_cast<float>(value));
  return result;
}

/// The error of `actual` as a share of `expected`, both as root mean squares.
double error(const std::vector<double>& actual, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(actual[i] - expected[i], 2);
    size += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / size);
}

/// sum over k of a[i * row_a + k * step_a] * b[j * row_b + k * step_b].
struct Strides {
  std::int64_t row, step;
};
std::vector<double> product(const std::vector<double>& a, Strides sa, const std::vector<double>& b, Strides sb,
                            std::int64_t rows, std::int64_t cols, std::int64_t inner) {
  std::vector<double> c;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < inner; ++k)
        sum += a[static_cast<std::size_t>(i * sa.row + k * sa.step)] *
               b[static_cast<std::size_t>(j * sb.row + k * sb.step)];
      c.push_back(sum);
    }
  return c;
}

/// A layer alone on `device` with its tensors; the weight is gathered in bf16, or in fp8 with an inverse scale.
struct LayerOnDevice {
  explicit LayerOnDevice(Device& device, bool fp8_weight, Stream compute)
      : communicators(device, {{0}, 0}, compute, {}),
        scratch(device, kTokens, kIn, kOut),
        products(tp::make_column_linear({.communicators = &communicators,
                                         .name = "fc1",
                                         .tokens = kTokens,
                                         .in = kIn,
                                         .out = kOut,
                                         .fp8 = &scratch},
                                        {})),
        linear({.device = &device,
                .compute = compute,
                .products = products.get(),
                .name = "fc1",
                .input_tokens = kTokens,
                .output_tokens = kTokens,
                .in = kIn,
                .out = kOut,
                .inputs = device.allocate("inputs", DataType::f8e4m3, kTokens * kIn),
                .gradient = device.allocate("gradient", DataType::f8e5m2, kTokens * kOut),
                .weight_is_fp8 = fp8_weight}),
        x(matrix(device.allocate("x", DataType::bf16, kTokens * kIn), kTokens, kIn)),
        w(matrix(device.allocate("w", fp8_weight ? DataType::f8e4m3 : DataType::bf16, kOut * kIn), kOut, kIn)),
        w_scale(flat(device.allocate("w_scale", DataType::f32, 1))),
        y(matrix(device.allocate("y", DataType::bf16, kTokens * kOut), kTokens, kOut)),
        dy(matrix(device.allocate("dy", DataType::bf16, kTokens * kOut), kTokens, kOut)),
        dx(matrix(device.allocate("dx", DataType::bf16, kTokens * kIn), kTokens, kIn)),
        dw(matrix(device.allocate("dw", DataType::f32, kOut * kIn), kOut, kIn)) {}

  void run(std::int32_t step) {
    const Tag tag{.kind = Kind::compute, .step = step};
    linear.fprop(tag, 0, {w, w_scale}, x, y);
    linear.backward(tag, 0, dy, dx, dw);
  }

  tp::Communicators communicators;
  tp::Fp8Scratch scratch;
  std::unique_ptr<tp::Linear> products;
  Fp8Linear linear;
  View x, w, w_scale, y, dy, dx, dw;
};

// e4m3 rounds to 2^-4 of a value at most, e5m2 to 2^-3; over many values the root mean square is less than half of
// that, and a product has the errors of two operands.
constexpr double kForwardError = 0.05, kBackwardError = 0.08;

TEST(Fp8Linear, IsTheBf16LayerWithinTheErrorOfItsFormats) {
  host::Ranks ranks(1);
  ranks.run([](Device& device, const Group&) {
    const Stream compute = device.create_stream("compute");
    LayerOnDevice layer(device, false, compute);
    device.begin();
    // Sizes far from 1: without scales all would be lost.
    const Values x(kTokens * kIn, 1e3, 1), w(kOut * kIn, 0.02, 2), dy(kTokens * kOut, 1e-7, 3);
    const auto upload = [&](const View& view, const Values& values) {
      device.upload(compute, {.kind = Kind::copy}, view, std::as_bytes(std::span(values.bits)));
    };
    upload(layer.x, x);
    upload(layer.w, w);
    upload(layer.dy, dy);
    device.launch(compute, {}, kernels::fill(layer.dw, 0));
    for (int microbatch = 0; microbatch < 2; ++microbatch) layer.run(0);
    device.synchronize();
    const auto y = product(x.exact, {kIn, 1}, w.exact, {kIn, 1}, kTokens, kOut, kIn);
    const auto dx = product(dy.exact, {kOut, 1}, w.exact, {1, kIn}, kTokens, kIn, kOut);
    auto dw = product(dy.exact, {1, kOut}, x.exact, {1, kIn}, kOut, kIn, kTokens);
    for (double& value : dw) value *= 2;  // of two microbatches
    EXPECT_LT(error(read<bf16>(device, layer.y), y), kForwardError);
    EXPECT_LT(error(read<bf16>(device, layer.dx), dx), kBackwardError);
    EXPECT_LT(error(read<float>(device, layer.dw), dw), kBackwardError);
    EXPECT_GT(error(read<bf16>(device, layer.y), y), 0.01) << "as bf16: nothing was quantised";
  });
}

TEST(Fp8Linear, TakesAWeightThatWasGatheredInFp8AsItIs) {
  host::Ranks ranks(1);
  ranks.run([](Device& device, const Group&) {
    const Stream compute = device.create_stream("compute");
    LayerOnDevice layer(device, true, compute);
    device.begin();
    const Values x(kTokens * kIn, 1, 1), dy(kTokens * kOut, 1, 3), random(kOut * kIn, 100, 2);
    std::vector<f8e4m3> codes;
    std::vector<double> w;
    for (const double value : random.exact) {
      codes.emplace_back(static_cast<float>(value));
      w.push_back(0.25 * static_cast<float>(codes.back()));
    }
    device.upload(compute, {.kind = Kind::copy}, layer.x, std::as_bytes(std::span(x.bits)));
    device.upload(compute, {.kind = Kind::copy}, layer.w, std::as_bytes(std::span(codes)));
    device.upload(compute, {.kind = Kind::copy}, layer.dy, std::as_bytes(std::span(dy.bits)));
    device.launch(compute, {}, kernels::fill(layer.w_scale, 0.25));
    device.launch(compute, {}, kernels::fill(layer.dw, 0));
    layer.run(0);
    device.synchronize();
    EXPECT_LT(error(read<bf16>(device, layer.y), product(x.exact, {kIn, 1}, w, {kIn, 1}, kTokens, kOut, kIn)),
              kForwardError);
    EXPECT_LT(error(read<bf16>(device, layer.dx), product(dy.exact, {kOut, 1}, w, {1, kIn}, kTokens, kIn, kOut)),
              kBackwardError);
  });
}

std::map<std::string, int> count_purposes(const Program& program) {
  std::map<std::string, int> counts;
  for (const ProgramCommand& command : program.commands)
    if (command.tag.purpose != kNoName) ++counts[std::string(name_of(command.tag.purpose))];
  return counts;
}

TEST(Fp8Linear, QuantisesAWeightOnceAStepAndOneThatCameInFp8Never) {
  for (const bool fp8_weight : {false, true}) {
    RecordingDevice device;
    LayerOnDevice layer(device, fp8_weight, device.create_stream("compute"));
    for (const std::int32_t step : {0, 0, 0, 1}) layer.run(step);
    std::map<std::string, int> counts = count_purposes(device.take_program());
    EXPECT_EQ(counts["fc1_fprop"], 4);
    EXPECT_EQ(counts["fc1_dgrad"], 4);
    EXPECT_EQ(counts["fc1_wgrad"], 4);
    EXPECT_EQ(counts["fc1_quantize"], 2 * 4 + (fp8_weight ? 0 : 2)) << "x and dy each time, the weight each step";
    EXPECT_EQ(counts["fc1_transpose"], 2 * 4 + 2);
  }
}

/// The layer of kTokens x kIn x kOut cut over a group, `is_column` by the rows of its weight.
struct LayerOverGroup {
  LayerOverGroup(Device& device, const Group& group, Stream compute, bool is_column)
      : communicators(device, group, compute, {}),
        collectives(communicators),
        in(is_column ? kIn : kIn / group.size()),
        out(is_column ? kOut / group.size() : kOut),
        x_tokens(is_column ? kTokens / group.size() : kTokens),
        y_tokens(is_column ? kTokens : kTokens / group.size()),
        scratch(device, kTokens, kIn, kOut) {
    const tp::LinearContext context{
        .communicators = &communicators, .name = "fc1", .tokens = kTokens, .in = in, .out = out, .fp8 = &scratch};
    products = is_column ? tp::make_column_linear(context, {}) : tp::make_row_linear(context, {});
    linear = std::make_unique<Fp8Linear>(
        Fp8Context{.device = &device,
                   .compute = compute,
                   .products = products.get(),
                   .name = "fc1",
                   .input_tokens = x_tokens,
                   .output_tokens = y_tokens,
                   .in = in,
                   .out = out,
                   .inputs = device.allocate("inputs", DataType::f8e4m3, x_tokens * in),
                   .gradient = device.allocate("gradient", DataType::f8e5m2, kTokens * kOut),
                   .input_group = is_column ? &collectives : nullptr,
                   .gradient_group = is_column ? nullptr : &collectives});
    const auto bf16_matrix = [&](const char* name, std::int64_t rows, std::int64_t cols) {
      return matrix(device.allocate(name, DataType::bf16, rows * cols), rows, cols);
    };
    x = bf16_matrix("x", x_tokens, in), dx = bf16_matrix("dx", x_tokens, in), w = bf16_matrix("w", out, in);
    y = bf16_matrix("y", y_tokens, out), dy = bf16_matrix("dy", y_tokens, out);
    dw = matrix(device.allocate("dw", DataType::f32, out * in), out, in);
  }

  tp::Communicators communicators;
  tp::Collectives collectives;
  std::int64_t in, out, x_tokens, y_tokens;
  tp::Fp8Scratch scratch;
  std::unique_ptr<tp::Linear> products;
  std::unique_ptr<Fp8Linear> linear;
  View x, w, y, dy, dx, dw;
};

constexpr double kTooSmall = 1.0 / 1024;  // half of e4m3's smallest step where 448 is the largest: to even, 0

TEST(Fp8Linear, RanksThatGatherAnInputShareItsScale) {
  host::Ranks ranks(2);
  ranks.run([](Device& device, const Group& group) {
    const Stream compute = device.create_stream("compute");
    LayerOverGroup layer(device, group, compute, true);
    device.begin();
    // One rank's input is small beside the other's: by a scale of its own it would be exact.
    device.launch(compute, {}, kernels::fill(layer.x, group.my_index == 0 ? 448 : kTooSmall));
    device.launch(compute, {}, kernels::fill(layer.w, 1));
    layer.linear->fprop({.step = 0}, 0, {layer.w}, layer.x, layer.y);
    device.synchronize();
    const std::vector<double> y = read<bf16>(device, layer.y);
    EXPECT_EQ(y.front(), 448.0 * kIn) << "the rows of rank 0";
    EXPECT_EQ(y.back(), 0) << "the rows of rank 1";
  });
}

TEST(Fp8Linear, RanksThatGatherAGradientShareItsScaleAndScaleTheirColumnsOfAnInputAlone) {
  host::Ranks ranks(2);
  ranks.run([](Device& device, const Group& group) {
    const Stream compute = device.create_stream("compute");
    LayerOverGroup layer(device, group, compute, false);
    device.begin();
    const bool is_small = group.my_index == 1;
    device.launch(compute, {}, kernels::fill(layer.x, is_small ? kTooSmall : 448));
    device.launch(compute, {}, kernels::fill(layer.w, 1));
    device.launch(compute, {}, kernels::fill(layer.dw, 0));
    // e5m2's smallest step is 2^-16 of 1, where its largest is 57344.
    device.launch(compute, {}, kernels::fill(layer.dy, is_small ? 0x1p-17 : 57344));
    layer.linear->fprop({.step = 0}, 0, {layer.w}, layer.x, layer.y);
    layer.linear->backward({.step = 0}, 0, layer.dy, layer.dx, layer.dw);
    device.synchronize();
    EXPECT_EQ(read<bf16>(device, layer.y)[0], 448.0 * kIn / 2) << "bf16 has no room for the other's share";
    const std::vector<double> dx = read<bf16>(device, layer.dx);
    EXPECT_EQ(dx.front(), 57344.0 * kOut) << "the rows of rank 0";
    EXPECT_EQ(dx.back(), 0) << "the rows of rank 1";
    const double x = is_small ? kTooSmall : 448;
    EXPECT_FLOAT_EQ(read<float>(device, layer.dw)[0], x * 57344.0 * kTokens / 2) << "of the rows of rank 0";
  });
}

TEST(Fp8Linear, RefusesSizesThatGpusCannotMultiply) {
  RecordingDevice device;
  const auto message_of = [&](std::int64_t in, std::int64_t output_tokens) {
    Fp8Context context;
    context.device = &device;
    context.name = "proj";
    context.input_tokens = 32;
    context.output_tokens = output_tokens;
    context.in = in;
    context.out = 32;
    return thrown_by<std::invalid_argument>([&] { Fp8Linear linear(context); });
  };
  EXPECT_THAT(message_of(24, 32), HasSubstr("proj in fp8: 24 input features, must be a multiple of 16"));
  EXPECT_THAT(message_of(32, 4), HasSubstr("proj in fp8: 4 tokens per rank, must be a multiple of 8"));
}

TEST(Fp8Weights, AreThoseOfTheInnerLayersLinearLayersAlone) {
  plan::Config config;
  config.model.num_layers = 4;
  config.model.hidden_size = config.model.ffn_hidden_size = config.model.seq_length = config.model.vocab_size = 16;
  config.model.num_attention_heads = config.model.num_query_groups = 2;
  config.mixed_precision = {.recipe = "bf16_with_fp8_current_scaling_mixed", .fp8_param_gather = true};
  config.ddp.use_distributed_optimizer = true;
  const auto marked = [&] {
    plan::ModelParameters parameters = list_parameters(config.model);
    mark_fp8_weights(parameters, config);
    std::vector<std::string> names;
    for (const plan::Parameter& p : parameters.all)
      if (p.is_fp8) names.push_back(p.name);
    return names;
  };
  EXPECT_THAT(marked(), ElementsAre("layer1.proj", "layer1.qkv", "layer1.fc1", "layer1.fc2", "layer2.proj",
                                    "layer2.qkv", "layer2.fc1", "layer2.fc2"));
  config.mixed_precision.fp8_param_gather = false;
  EXPECT_TRUE(marked().empty());
  EXPECT_TRUE(multiplies_in_fp8(config, 1)) << "the recipe still does, by bf16 gathers";
  config.mixed_precision.recipe = "bf16_mixed";
  EXPECT_FALSE(multiplies_in_fp8(config, 1));
}

}  // namespace
}  // namespace underlap::model
