// SPDX-License-Identifier: Apache-2.0
// The emulated link on the machine of queues, whose clock moves on only where kernels sleep: times are exact.
#pragma once

#include <array>
#include <numeric>

#include "impl/device/cuda/emulated_link/emulated_link.hpp"
#include "kernels/cuda/check.hpp"
#include "tests/cuda_host/machine.hpp"
#include "tests/testing.hpp"

namespace underlap::cuda {

inline constexpr std::int64_t kPiece = 256;
inline constexpr double kNsOff = 40;  // sleeps end up to 16 ns late, twice at most, and a byte's time is rounded

inline EmulatedLinkOptions options(plan::EmulatedLink link) {
  return {.link = link,
          .shape = {.threads = 64, .shared_bytes = 1024, .staging_bytes = 5 * kPiece, .piece_bytes = kPiece},
          .num_records = 64,
          .copy_piece_us = 2};
}

inline Group group_of(std::int32_t size, std::int32_t index) {
  Group group{.members = std::vector<std::int32_t>(static_cast<std::size_t>(size)), .my_index = index};
  std::iota(group.members.begin(), group.members.end(), 0);
  return group;
}

/// Floats in device memory; not a number until written.
class Floats {
 public:
  explicit Floats(std::int64_t count, std::int64_t skip = 0) : count_(count), skip_(skip) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, static_cast<std::size_t>(count + skip) * sizeof(float)));
    data_ = static_cast<float*>(memory) + skip;
  }
  ~Floats() { cudaFree(data_ - skip_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  Floats& count_up() {
    for (std::int64_t i = 0; i < count_; ++i) data_[i] = static_cast<float>(i + 1);
    return *this;
  }
  float operator[](std::int64_t i) const { return data_[i]; }
  View view(std::int64_t offset, std::int64_t elements) const {
    const Tensor tensor{.id = 1, .dtype = DataType::f32, .elements = count_};
    return {.tensor = tensor, .offset = offset, .rows = 1, .cols = elements, .leading_dimension = elements};
  }
  std::byte* at(std::int64_t element) const { return reinterpret_cast<std::byte*>(data_ + element); }
  bool is_written() const {
    return std::none_of(data_, data_ + count_, [](float value) { return std::isnan(value); });
  }

 private:
  std::int64_t count_;
  std::int64_t skip_;
  float* data_;
};

inline BoundTransfer transfer(Collective collective, const Floats* input, std::int64_t in, const Floats* output,
                              std::int64_t out, std::int64_t in_at = 0, std::int64_t out_at = 0) {
  BoundTransfer made;
  made.transfer.collective = collective;
  if (input != nullptr) made.transfer.input = input->view(in_at, in), made.input = input->at(in_at);
  if (output != nullptr) made.transfer.output = output->view(out_at, out), made.output = output->at(out_at);
  return made;
}

/// 1, 2, 3 and so on.
struct CountedFloats : Floats {
  explicit CountedFloats(std::int64_t count, std::int64_t skip = 0) : Floats(count, skip) { count_up(); }
};

/// An all-gather of `shard` floats of each of `ranks` ranks.
struct Gather {
  explicit Gather(std::int64_t shard, std::int64_t ranks = 4) : input(shard), output(ranks * shard) {
    transfers = {transfer(Collective::all_gather, &input, shard, &output, ranks * shard)};
  }

  CountedFloats input;
  Floats output;
  std::array<BoundTransfer, 1> transfers;
};

class OnEmulatedLink : public testing::Test {
 protected:
  OnEmulatedLink() {
    cuda_host::Machine::instance().reset(1, 5);
    cuda_host::Machine::instance().kernels_run_together = true;
    cuda_host::virtual_clock().tick_ns = 0;
    for (cudaStream_t& stream : streams_) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~OnEmulatedLink() override {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    cuda_host::virtual_clock() = {};
  }

  /// Runs what stands in the streams; nanoseconds of virtual time.
  double run() {
    const auto before = cuda_host::virtual_clock().now_ns;
    for (cudaStream_t stream : streams_) check(cudaStreamSynchronize(stream));
    return static_cast<double>(cuda_host::virtual_clock().now_ns - before);
  }
  double run(EmulatedLink& link, const Group& group, std::span<const BoundTransfer> transfers,
             const CommunicatorHints& hints = {}) {
    const auto channel = link.connect(0, "test", group, hints, {});
    cuda_host::Machine::instance().launched.clear();
    channel->enqueue(transfers, streams_[0], 0);
    return run();
  }
  double run(EmulatedLink& link, const Group& group, std::initializer_list<BoundTransfer> transfers) {
    return run(link, group, std::span(transfers.begin(), transfers.size()));
  }
  /// The first kernel of the last such run.
  static const cuda_host::KernelLaunch& launched() { return cuda_host::Machine::instance().launched.at(0); }

  std::array<cudaStream_t, 3> streams_{};
};

}  // namespace underlap::cuda
