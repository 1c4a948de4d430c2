// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <initializer_list>

#include "impl/device/device.hpp"

/// What tests of devices launch, send and look at.
namespace underlap::testing_support {

/// `size` ranks from `first`, `stride` apart.
inline Group group_of(std::int32_t size, std::int32_t my_index, std::int32_t first = 0, std::int32_t stride = 1) {
  Group group{{}, my_index};
  for (std::int32_t i = 0; i < size; ++i) group.members.push_back(first + i * stride);
  return group;
}

inline Operation operation_of(CpuImplementation form, std::initializer_list<Use> uses) {
  return {intern("test operation"), form, {}, uses};
}
/// Of the first argument, in place.
inline void add_one(const Arguments& a) {
  for (std::int64_t i = 0; i < a[0].cols; ++i) a[0].as<float>()[i] += 1;
}
/// Of the first argument to the second.
inline void copy(const Arguments& a) { std::copy_n(a[0].as<float>(), a[0].cols, a[1].as<float>()); }

inline void fill_with_seven(const Arguments& a) { std::fill_n(a[0].as<float>(), a[0].cols, 7.0F); }

inline Operation add_one_to(const View& view) { return operation_of(add_one, {{view, Access::inout}}); }
inline Operation copy_of(const View& from, const View& to) {
  return operation_of(copy, {{from, Access::in}, {to, Access::out}});
}

/// A device begins with one stream, or one communicator, and one tensor of fp32.
struct StreamAndTensor {
  Stream stream;
  Tensor tensor;
};
inline StreamAndTensor begin_with_stream(Device& device, std::int64_t elements) {
  const StreamAndTensor all{device.create_stream("compute"), device.allocate("x", DataType::f32, elements)};
  device.begin();
  return all;
}
struct CommunicatorAndTensor {
  Communicator communicator;
  Tensor tensor;
};
inline CommunicatorAndTensor begin_with_communicator(Device& device, const Group& group, std::string_view purpose,
                                                     std::int64_t elements, const CommunicatorHints& hints = {}) {
  const CommunicatorAndTensor all{device.declare(purpose, group, hints), device.allocate("x", DataType::f32, elements)};
  device.begin();
  return all;
}

inline Transfer all_reduce_of(const View& view) {
  return {.collective = Collective::all_reduce, .input = view, .output = view};
}
inline Transfer all_reduce_of(const Tensor& tensor) { return all_reduce_of(flat(tensor)); }
inline Transfer send_to(std::int32_t peer, const View& view) {
  return {.collective = Collective::send, .input = view, .output = {}, .peer = peer};
}
inline Transfer receive_from(std::int32_t peer, const View& view) {
  return {.collective = Collective::receive, .input = {}, .output = view, .peer = peer};
}

inline void communicate(Device& device, const Communicator& communicator, std::initializer_list<Transfer> transfers) {
  device.communicate(communicator, {.kind = Kind::communication}, {transfers.begin(), transfers.size()});
}

inline void all_reduce(Device& device, const Communicator& communicator, const Tensor& tensor) {
  communicate(device, communicator, {all_reduce_of(tensor)});
}

/// `tensor` becomes `values`, which are as many, in the order of `stream`.
template <class T = float>
void fill(Device& device, Stream stream, const Tensor& tensor, const std::vector<T>& values) {
  device.upload(stream, {.kind = Kind::copy}, flat(tensor), std::as_bytes(std::span(values)));
}

template <class T = float>
std::vector<T> read(Device& device, const View& view) {
  std::vector<T> values(static_cast<std::size_t>(view.elements()));
  device.download(view, std::as_writable_bytes(std::span(values)));
  return values;
}
template <class T = float>
std::vector<T> read(Device& device, const Tensor& tensor) {
  return read<T>(device, flat(tensor));
}

}  // namespace underlap::testing_support
