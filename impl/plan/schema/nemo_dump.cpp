// SPDX-License-Identifier: Apache-2.0
// NeMo 2.0 keeps the same dataclasses in other places. The strategy has the parallel sizes and ddp, a plugin the
// precision, and a callback the communication overlap. The model's class implies its sizes.
#include "impl/plan/schema/foreign_configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>

namespace underlap::plan {
namespace {

/// Configurations of NeMo with the sizes of a preset.
constexpr std::pair<std::string_view, std::string_view> kModels[] = {
    {"Llama3Config8B", "llama3-8b"},
    {"Llama31Config8B", "llama3-8b"},
    {"Llama3Config70B", "llama3-70b"},
    {"Llama31Config70B", "llama3-70b"},
    {"Llama31Config405B", "llama3.1-405b"},
    {"GPTConfig20B", "gpt3-20b"},
    {"GPTConfig175B", "gpt3-175b"},
    {"Nemotron4Config15B", "nemotron4-15b"},
    {"Nemotron4Config340B", "nemotron4-340b"},
};

/// The mapping at `path`, with one key for each step; nullptr if there is none.
const Node* find_mapping(const Node& root, std::initializer_list<std::string_view> path) {
  const Node* node = &root;
  for (const std::string_view key : path) {
    const Entry* entry = find_entry(*node, key);
    if (entry == nullptr || entry->value->kind != Node::Kind::mapping) return nullptr;
    node = entry->value;
  }
  return node;
}

std::string class_of(const Node& node) {
  const Entry* target = find_entry(node, "_target_");
  return target == nullptr ? "" : target->value->text.substr(target->value->text.rfind('.') + 1);
}

class NemoBuilder {
 public:
  explicit NemoBuilder(const Node& nemo) : nemo_(nemo) {}

  /// model: {config: {_target_: nemo.collections.llm.gpt.model.llama.Llama3Config8B, num_layers: 16}}
  /// trainer: {num_nodes: 2, devices: 8, strategy: {tensor_model_parallel_size: 2, ddp: {...}}, plugins: {...}, ...}
  Document build() {
    Node& root = document_.add(Node::Kind::mapping, nemo_.place);
    document_.root = &root;
    section(root, "model", {find_mapping(nemo_, {"model", "config"}), find_mapping(nemo_, {"trainer", "strategy"})});
    section(root, "ddp", {find_mapping(nemo_, {"trainer", "strategy", "ddp"})});
    section(root, "optimizer", {find_mapping(nemo_, {"optim", "config"})});
    section(root, "train", {find_mapping(nemo_, {"data"})});
    section(root, "mixed_precision", {find_mapping(nemo_, {"trainer", "plugins"})});
    add_overlap(root);
    add_world(root);
    for (const Entry& entry : nemo_.entries)
      if (is_ours(entry.key)) root.entries.push_back(entry);
    return std::move(document_);
  }

 private:
  static bool is_ours(std::string_view key) {
    return key == "run" || key == "extensions" || key == "environment" || key == "data_parallel_size" ||
           key == "world_size" || key == "matrix";
  }

  const Node& scalar(std::string text, Place place) {
    return document_.add(Node::Kind::scalar, place, std::move(text));
  }

  /// One section, merged from several mappings. The first occurrence of a key wins.
  void section(Node& root, const char* name, std::initializer_list<const Node*> parts) {
    Node& node = document_.add(Node::Kind::mapping, nemo_.place);
    for (const Node* part : parts)
      if (part != nullptr)
        for (const Entry& entry : part->entries)
          if (entry.key != "ddp" && find_entry(node, entry.key) == nullptr) node.entries.push_back(entry);
    add_model_class(node, name);
    add_precision(node, name);
    root.entries.push_back({name, node.place, &node});
  }

  void add_model_class(Node& section, std::string_view name) {
    if (name != "model") return;
    const std::string of = class_of(section);
    const auto* known = std::ranges::find(kModels, of, &std::pair<std::string_view, std::string_view>::first);
    if (known != std::end(kModels))
      section.entries.push_back({"preset", section.place, &scalar(std::string(known->second), section.place)});
    if (find_entry(section, "seq_length") != nullptr) return;
    const Node* data = find_mapping(nemo_, {"data"});
    if (const Entry* length = data == nullptr ? nullptr : find_entry(*data, "seq_length"))
      section.entries.push_back(*length);
  }

  /// Bridge has a flag for "bf16-mixed".
  void add_precision(Node& section, std::string_view name) {
    const Entry* precision = name == "mixed_precision" ? find_entry(section, "precision") : nullptr;
    if (precision == nullptr) return;
    const bool is_fp16 = precision->value->text.starts_with("16") || precision->value->text.starts_with("fp16");
    section.entries.push_back({is_fp16 ? "fp16" : "bf16", precision->place, &scalar("true", precision->place)});
  }

  void add_overlap(Node& root) {
    const Node* trainer = find_mapping(nemo_, {"trainer"});
    const Entry* callbacks = find_entry(*trainer, "callbacks");
    if (callbacks != nullptr)
      for (const Node* callback : callbacks->value->items)
        if (class_of(*callback) == "MegatronCommOverlapCallback")
          return root.entries.push_back({"comm_overlap", callback->place, callback});
    root.entries.push_back({"comm_overlap", trainer->place, &document_.add(Node::Kind::null, trainer->place)});
  }

  void add_world(Node& root) {
    const Node* trainer = find_mapping(nemo_, {"trainer"});
    const Entry *nodes = find_entry(*trainer, "num_nodes"), *devices = find_entry(*trainer, "devices");
    if (devices == nullptr || find_entry(nemo_, "world_size") != nullptr) return;
    if (devices->value->text.size() > 6 || (nodes != nullptr && nodes->value->text.size() > 6)) return;
    const long ranks =
        std::atol(devices->value->text.c_str()) * (nodes == nullptr ? 1 : std::atol(nodes->value->text.c_str()));
    if (ranks > 0)
      root.entries.push_back({"world_size", devices->place, &scalar(fmt::format("{}", ranks), devices->place)});
  }

  const Node& nemo_;
  Document document_;
};

}  // namespace

bool is_nemo_dump(const Node& root) { return find_mapping(root, {"trainer", "strategy"}) != nullptr; }

Document nemo_as_bridge(const Node& root) { return NemoBuilder(root).build(); }

}  // namespace underlap::plan
