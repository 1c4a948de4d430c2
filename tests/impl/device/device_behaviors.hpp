// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "tests/impl/device/device_testing.hpp"
#include "tests/testing.hpp"

/// What every device with memory does, whatever its backend. Each function takes a device that has not begun.
namespace underlap::testing_support {

inline void expect_a_stream_in_order(Device& device) {
  const auto [stream, x] = begin_with_stream(device, 3);
  fill(device, stream, x, {1, 2, 3});
  for (int i = 0; i < 100; ++i) device.launch(stream, {}, add_one_to(flat(x)));
  device.synchronize();
  EXPECT_THAT(read(device, x), ElementsAre(101, 102, 103));
}

inline void expect_an_event_to_order_two_streams(Device& device, CpuImplementation fill_with_sevens) {
  const Stream producer = device.create_stream("producer");
  const Stream consumer = device.create_stream("consumer");
  const Tensor x = device.allocate("x", DataType::f32, 4);
  const Tensor y = device.allocate("y", DataType::f32, 4);
  device.begin();
  device.launch(producer, {}, operation_of(fill_with_sevens, {{flat(x), Access::out}}));
  device.wait(consumer, device.record(producer));
  device.launch(consumer, {}, copy_of(flat(x), flat(y)));
  device.synchronize();
  EXPECT_THAT(read(device, y), Each(7.0F));
}

inline void expect_wrong_uses_to_be_refused(Device& device) {
  const auto [stream, x] = begin_with_stream(device, 4);
  fill(device, stream, x, {1, 2, 3, 4});
  EXPECT_THROW(device.launch(stream, {}, copy_of(flat(x, 0, 3), flat(x, 2, 2))), std::invalid_argument) << "overlap";
  EXPECT_THROW(device.launch(stream, {}, add_one_to(flat(x, 2, 3))), std::invalid_argument) << "outside";
  device.launch(stream, {}, copy_of(flat(x, 0, 2), flat(x, 2, 2)));
  device.synchronize();
  EXPECT_THAT(read(device, x), ElementsAre(1, 2, 1, 2)) << "a mistake leaves the device as it was";
}

inline void expect_every_piece_of_every_collective_to_move(Device& device, const Group& group) {
  const auto n = static_cast<int>(group.members.size());
  const Communicator dp = device.declare("dp", group);
  const Tensor own = device.allocate("own", DataType::f32, 3);
  const Tensor all = device.allocate("all", DataType::f32, 3 * n);
  const Tensor sum = device.allocate("sum", DataType::f32, 3);
  const Tensor most = device.allocate("most", DataType::f32, 3);
  const Tensor exchanged = device.allocate("exchanged", DataType::f32, 3 * n);
  device.begin();
  const auto me = static_cast<float>(group.my_index);
  fill(device, dp.stream, own, {me, me + 10, -me});
  communicate(device, dp,
              {{.collective = Collective::all_gather, .input = flat(own), .output = flat(all)},
               {.collective = Collective::all_reduce, .input = flat(own), .output = flat(sum)}});
  communicate(device, dp, {{.collective = Collective::all_to_all, .input = flat(all), .output = flat(exchanged)}});
  communicate(device, dp,
              {{.collective = Collective::all_reduce, .input = flat(own), .output = flat(most), .op = ReduceOp::max}});
  device.synchronize();
  const auto ranks_sum = static_cast<float>(n * (n - 1) / 2), last = static_cast<float>(n - 1);
  EXPECT_THAT(read(device, sum), ElementsAre(ranks_sum, ranks_sum + 10.0F * static_cast<float>(n), -ranks_sum));
  EXPECT_THAT(read(device, most), ElementsAre(last, last + 10, 0));
  for (int rank = 0; rank < n; ++rank) {
    EXPECT_EQ(read(device, all)[static_cast<std::size_t>(3 * rank + 1)], static_cast<float>(rank) + 10);
    EXPECT_EQ(read(device, exchanged)[static_cast<std::size_t>(3 * rank)], me);
  }
}

/// Gathers three bytes of each rank. The device has begun.
inline void expect_fp8_to_move_byte_for_byte(Device& device, const Communicator& dp, const Group& group,
                                             const Tensor& x) {
  const std::vector<std::uint8_t> own(3, static_cast<std::uint8_t>(0x7F - group.my_index));
  const View mine = flat(x, 3 * group.my_index, 3);
  device.upload(dp.stream, {.kind = Kind::copy}, mine, std::as_bytes(std::span(own)));
  communicate(device, dp, {{.collective = Collective::all_gather, .input = mine, .output = flat(x)}});
  device.synchronize();
  const std::vector<std::uint8_t> all = read<std::uint8_t>(device, x);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 0x7F - i / 3) << i;
}

}  // namespace underlap::testing_support
