// SPDX-License-Identifier: Apache-2.0
#include "impl/dp/technique.hpp"

#include <algorithm>
#include <stdexcept>

namespace underlap::dp {
namespace {

template <class Interface>
std::vector<TechniqueInfo<Interface>>& registry() {
  static std::vector<TechniqueInfo<Interface>> techniques;
  return techniques;
}

template <class Interface>
void add(const TechniqueInfo<Interface>& info) {
  auto& techniques = registry<Interface>();
  const auto place =
      std::find_if(techniques.begin(), techniques.end(), [&](const auto& t) { return t.name > info.name; });
  techniques.insert(place, info);
}

template <class Interface>
std::unique_ptr<Interface> make(const Context& context) {
  for (const auto& technique : registry<Interface>())
    if (technique.in_effect(*context.config)) return technique.make(context);
  throw std::logic_error("no technique of impl/dp is in effect for this configuration");
}

}  // namespace

RegisterTechnique::RegisterTechnique(const TechniqueInfo<GradReduce>& info) { add(info); }
RegisterTechnique::RegisterTechnique(const TechniqueInfo<ParamGather>& info) { add(info); }

std::span<const TechniqueInfo<GradReduce>> grad_reduce_techniques() { return registry<GradReduce>(); }
std::span<const TechniqueInfo<ParamGather>> param_gather_techniques() { return registry<ParamGather>(); }

std::unique_ptr<GradReduce> make_grad_reduce(const Context& context) { return make<GradReduce>(context); }
std::unique_ptr<ParamGather> make_param_gather(const Context& context) { return make<ParamGather>(context); }

View Buffers::bucket(const Tensor& buffer, std::int32_t b) const {
  const Bucket& bucket = layout.buckets[static_cast<std::size_t>(b)];
  return flat(buffer, bucket.begin, bucket.elements());
}

View Buffers::shard(const Tensor& buffer, std::int32_t b) const {
  if (!is_sharded) return bucket(buffer, b);
  const Bucket& whole = layout.buckets[static_cast<std::size_t>(b)];
  const std::int64_t elements = whole.elements() / group.size();
  return flat(buffer, whole.begin + group.my_index * elements, elements);
}

View Buffers::weight(std::int32_t parameter) const {
  const auto i = static_cast<std::size_t>(parameter);
  return matrix(params, parameters[i].rows, parameters[i].cols, layout.offset_of[i]);
}

View Buffers::main_grad(std::int32_t parameter) const {
  const auto i = static_cast<std::size_t>(parameter);
  return matrix(grads, parameters[i].rows, parameters[i].cols, layout.offset_of[i]);
}

}  // namespace underlap::dp
