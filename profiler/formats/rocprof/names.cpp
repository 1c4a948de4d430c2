// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/rocprof/names.hpp"

#include <simdjson.h>

#include <utility>

#include "profiler/formats/rocprof/json_parts.hpp"

namespace underlap::formats::rocprof {
namespace {

namespace dom = simdjson::dom;

std::string text_in(dom::element object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::int64_t number_in(dom::element object, std::string_view key, std::int64_t otherwise) {
  std::int64_t number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? number : otherwise;
}

// Calls `take` with each element that is valid JSON.
template <class Take>
void for_each_valid(std::string_view array, Take take) {
  dom::parser parser;
  for_each_json_element(array, [&](const JsonPart& part) {
    dom::element element;
    if (parser.parse(part.value.data(), part.value.size()).get(element) == simdjson::SUCCESS) take(element);
  });
}

// The loader appends ".kd" to the symbol of a kernel, which demanglers write as " [clone .kd]".
std::string_view without_suffix(std::string_view name) {
  for (const std::string_view suffix : {" [clone .kd]", " .kd", ".kd"})
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  return name;
}

std::string name_of_kernel(dom::element symbol) {
  for (const std::string_view key :
       {"formatted_kernel_name", "demangled_kernel_name", "kernel_name", "truncated_kernel_name"})
    if (const std::string name = text_in(symbol, key); !name.empty()) return std::string(without_suffix(name));
  return {};
}

}  // namespace

// [{"id": {"handle": 37946}, "type": 2, "logical_node_type_id": 0, "name": "gfx950", "product_name": "..."}]
void Names::read_agents(std::string_view array) {
  constexpr std::int64_t kGpu = 2, kMostGpus = 1 << 16;
  for_each_valid(array, [&](dom::element element) {
    dom::element id;
    if (element["id"].get(id) != simdjson::SUCCESS) return;
    const std::int64_t handle = number_in(id, "handle", -1);
    if (handle < 0) return;
    Agent agent{
        .number = -1, .is_gpu = number_in(element, "type", 0) == kGpu, .product = text_in(element, "product_name")};
    if (agent.product.empty()) agent.product = text_in(element, "name");
    const std::int64_t number = number_in(element, "logical_node_type_id", number_in(element, "gpu_index", -1));
    if (agent.is_gpu && number >= 0 && number < kMostGpus) agent.number = static_cast<std::int32_t>(number);
    agents_.insert_or_assign(handle, std::move(agent));
  });
}

// [{"kernel_id": 3, "kernel_name": "_Z23nccl....kd", "formatted_kernel_name": "ncclDevKernel_Generic_1(...)"}]
void Names::read_kernels(std::string_view array) {
  for_each_valid(array, [&](dom::element symbol) {
    const std::int64_t id = number_in(symbol, "kernel_id", -1);
    std::string name = name_of_kernel(symbol);
    if (id >= 0 && !name.empty()) kernel_texts_.insert_or_assign(id, std::move(name));
  });
}

// {"buffer_records": [{"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", ...]}, ...],
//  "marker_api": [{"key": 1, "value": "step 0"}, ...]}
void Names::read_strings(std::string_view object) {
  const std::vector<JsonPart> members = json_members(object);
  for_each_valid(json_member(members, "buffer_records").value, [&](dom::element kind) {
    std::vector<NameId>& names = operations_.emplace_back();
    dom::array operations;
    if (kind["operations"].get(operations) != simdjson::SUCCESS) return;
    for (const dom::element operation : operations) {
      std::string_view text;
      const bool is_text = operation.get(text) == simdjson::SUCCESS;
      names.push_back(is_text ? intern(text) : kNoName);
    }
  });
  for_each_valid(json_member(members, "marker_api").value, [&](dom::element marker) {
    const std::int64_t key = number_in(marker, "key", -1);
    if (key >= 0) markers_.insert_or_assign(key, intern(text_in(marker, "value")));
  });
}

const Agent* Names::agent(std::int64_t handle) const {
  const auto found = agents_.find(handle);
  return found == agents_.end() ? nullptr : &found->second;
}

NameId Names::kernel(std::int64_t id) {
  if (const auto known = kernels_.find(id); known != kernels_.end()) return known->second;
  const auto text = kernel_texts_.find(id);
  return kernels_[id] = text == kernel_texts_.end() ? kNoName : intern(text->second);
}

NameId Names::operation(std::int64_t kind, std::int64_t number) const {
  if (kind < 0 || kind >= static_cast<std::int64_t>(operations_.size())) return kNoName;
  const std::vector<NameId>& names = operations_[static_cast<std::size_t>(kind)];
  return number < 0 || number >= static_cast<std::int64_t>(names.size()) ? kNoName
                                                                         : names[static_cast<std::size_t>(number)];
}

NameId Names::marker(std::int64_t correlation) const {
  const auto found = markers_.find(correlation);
  return found == markers_.end() ? kNoName : found->second;
}

}  // namespace underlap::formats::rocprof
