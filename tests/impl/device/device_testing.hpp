// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "impl/device/device.hpp"

/// What tests of devices launch, send and look at.
namespace underlap::testing_support {

inline Operation operation_of(CpuImplementation form, std::initializer_list<Use> uses) {
  return {intern("test operation"), form, {}, uses};
}
/// Of the first argument, in place.
inline void add_one(const Arguments& a) {
  for (std::int64_t i = 0; i < a[0].cols; ++i) a[0].as<float>()[i] += 1;
}
/// Of the first argument to the second.
inline void copy(const Arguments& a) { std::copy_n(a[0].as<float>(), a[0].cols, a[1].as<float>()); }

inline void communicate(Device& device, const Communicator& communicator, std::initializer_list<Transfer> transfers) {
  device.communicate(communicator, {.kind = Kind::communication}, {transfers.begin(), transfers.size()});
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
