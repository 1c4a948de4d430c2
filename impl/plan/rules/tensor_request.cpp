// SPDX-License-Identifier: Apache-2.0
// Reads tp_comm_overlap_cfg: a preset's name, or entries for slots with the field names of Megatron-Bridge's classes
// and Transformer Engine's initialize_ub. An entry that names one of Bridge's classes in `_target_` has that class's
// defaults. All others are merged over Transformer Engine's defaults.
#include "impl/plan/rules/tensor_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "impl/plan/schema/paths.hpp"
#include "impl/plan/slots/slot_fields.hpp"
#include "platform/suggestion.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kPresetPrefix = "userbuffers_";

/// Bridge's classes for `_target_`, with the default fields of an entry of that class.
struct EntryClass {
  std::string_view name;
  TensorSlotRequest defaults;
};

const std::vector<EntryClass>& classes() {
  static const std::vector<EntryClass> instance{
      {"BulkOverlapCfg", {{"method", "bulk"}}},
      {"RingExchangeOverlapCfg",
       {{"method", "ring_exchange"},
        {"aggregate", false},
        {"num_sm", 1},
        {"cga_size", 1},
        {"set_sm_margin", false},
        {"fp8_buf", false}}},
      {"PipelineOverlapCfg", {{"method", "pipeline"}, {"fp8_buf", ValueList{false}}}}};
  return instance;
}

/// A field that is known only by name.
struct KnownField {
  std::string_view name;
  Type type = Type::boolean;
  std::optional<bool> harmless = {};  ///< the value that changes nothing; numbers have no such value
  std::string_view value = "";        ///< the part that is not run, printed after its name
  std::string_view instead = "leave it out";
  std::string_view problem = "";  ///< why it is an error, printed after its path; empty: only `run` refuses it
};
constexpr KnownField kKnownFields[] = {
    {.name = "atomic_gemm",
     .harmless = false,
     .problem =
         " cannot be true: a GEMM that counts its finished parts in device memory cannot be expressed by streams "
         "and events; leave it out"},
    {.name = "use_ce", .harmless = true, .value = " false", .instead = "extensions.tp_ring_transport: nccl uses SMs"},
    {.name = "pipeline_rs_overlap_first_gemm", .harmless = false},
    {.name = "comm_priority", .type = Type::integer},
    {.name = "gemm_priority", .type = Type::integer},
};

std::vector<std::string_view> names_of(const auto& rows) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

/// Reads the entry of one slot.
class EntryReader {
 public:
  EntryReader(Resolution& resolution, TensorSlot slot)
      : r_(resolution), slot_(slot), path_(kTensorSlotPaths[static_cast<std::size_t>(slot)]) {}

  /// qkv_fprop: {method: ring_exchange, num_sm: 1, set_sm_margin: false, aggregate: true}
  TensorSlotRequest read(const Node& node) {
    if (node.kind == Node::Kind::mapping)
      for (const Entry& entry : node.entries) read_entry(entry);
    else
      r_.problems.add(node.place, fmt::format("{} must be a mapping of fields such as {{method: bulk}}, or null for "
                                              "Transformer Engine's default, not {}",
                                              path_, describe(node)));
    request_ = merged(of_class_, request_);
    check_method(method_place_.value_or(node.place));
    return request_;
  }

 private:
  void read_entry(const Entry& entry) {
    if (entry.key == "_target_") return read_class(*entry.value);
    if (const SlotField* field = find_slot_field(entry.key)) return read_field(*field, *entry.value);
    const auto* known = std::ranges::find(kKnownFields, entry.key, &KnownField::name);
    if (known != std::end(kKnownFields)) return refuse(*known, *entry.value);
    std::vector<std::string_view> names = names_of(slot_fields());
    std::ranges::copy(names_of(kKnownFields), std::back_inserter(names));
    r_.problems.add(entry.place,
                    fmt::format("{} has no field {}{}", path_, in_quotes(entry.key), did_you_mean(entry.key, names)));
  }

  void read_class(const Node& node) {
    const std::string_view name = std::string_view(node.text).substr(node.text.rfind('.') + 1);
    const auto of = std::ranges::find(classes(), name, &EntryClass::name);
    if (of != classes().end())
      of_class_ = of->defaults;
    else
      r_.problems.add(node.place, fmt::format("{}: unknown class {}{}", path_, in_quotes(node.text),
                                              did_you_mean(name, names_of(classes()))));
  }

  static bool is_tuple_of_false(const Node& node) {
    return node.kind == Node::Kind::sequence && node.items.size() == 1 &&
           (node.items[0]->text == "false" || node.items[0]->text == "False");
  }

  /// Returns nothing and adds a problem if the value is invalid; returns nothing for null.
  std::optional<Value> value_of(const Row& row, const Node& written) {
    Node node = written;
    // Megatron-LM's own files write flags as 0 and 1.
    if (row.type == Type::boolean && !node.is_quoted && (node.text == "0" || node.text == "1"))
      node.text = node.text == "1" ? "true" : "false";
    auto value = read_value(row, node, r_.problems);
    return value && is_null(*value) ? std::nullopt : value;
  }

  void read_field(const SlotField& field, const Node& node) {
    if (field.name == "fp8_buf" && is_tuple_of_false(node)) {
      request_[field.name] = ValueList{false};
      return;
    }
    const std::string path = fmt::format("{}.{}", path_, field.name);
    const auto value =
        value_of({.path = path, .type = field.type, .range = field.range, .choices = field.choices}, node);
    if (!value) return;
    if (field.name == "method") method_place_ = node.place;
    request_[field.name] = *value;
    const std::string refusal = field.refusal == nullptr ? "" : field.refusal(r_.config(), *value);
    if (!refusal.empty()) r_.problems.add(node.place, path + refusal);
  }

  void refuse(const KnownField& field, const Node& node) {
    const std::string path = fmt::format("{}.{}", path_, field.name);
    const auto value = value_of({.path = path, .type = field.type}, node);
    if (!value || (field.harmless && *value == Value(*field.harmless))) return;
    if (!field.problem.empty())
      r_.problems.add(node.place, path + std::string(field.problem));
    else
      r_.plan.not_run.push_back(
          {r_.problems.text(node.place), fmt::format("{}: {}{} is recognized but not run by this version; {}", path_,
                                                     field.name, field.value, field.instead)});
  }

  void check_method(Place place) {
    using enum TensorMethod;
    const TensorMethod method = method_of(request_).value_or(nccl);
    if (!in_userbuffers(method)) return;
    const auto wrong = [&](std::string_view why) {
      r_.problems.add(place, fmt::format("{} has no {}: {}", path_, kTensorMethodNames[method], why));
    };
    switch (kind_of(slot_)) {
      case TensorSlotKind::gather_gemm:
        if (method == bulk) wrong("the GEMM needs the gathered data; use ring_exchange");
        if (method == pipeline) wrong("pipeline reduces, but this slot gathers; use ring_exchange");
        break;
      case TensorSlotKind::gemm_scatter:
        if (method == bulk) wrong("the GEMM produces the reduced data; use pipeline or ring_exchange");
        break;
      case TensorSlotKind::column_wgrad:
        if (method != bulk) wrong("the GEMM neither needs nor produces the data reduced during it; use bulk");
        break;
      case TensorSlotKind::column_dgrad: break;
    }
  }

  Resolution& r_;
  TensorSlot slot_;
  std::string_view path_;
  TensorSlotRequest of_class_;
  TensorSlotRequest request_;
  std::optional<Place> method_place_;
};

std::optional<UserbuffersPreset> read_preset(Resolution& r) {
  if (!r.settings.given(kTensorOverlapConfig)) return std::nullopt;
  const Node& node = *r.settings[kTensorOverlapConfig].node;
  if (node.kind != Node::Kind::scalar) {
    r.error({kTensorOverlapConfig},
            fmt::format("tp_comm_overlap_cfg must be the name of a userbuffers preset, or a mapping from GEMMs to "
                        "settings, not {}; underlap list presets shows them",
                        describe(node)));
    return std::nullopt;
  }
  auto preset = find_userbuffers_preset(node.text);
  // All of Bridge's names have this prefix, which users often omit.
  const std::string_view prefix = node.text.starts_with(kPresetPrefix) ? "" : kPresetPrefix;
  if (!preset)
    r.error({kTensorOverlapConfig},
            fmt::format("unknown userbuffers preset {}{}", in_quotes(node.text),
                        did_you_mean(fmt::format("{}{}", prefix, node.text), userbuffers_preset_names())));
  return preset;
}

/// With rs_dgrad the dgrad GEMM reduces its own output, so nothing is left to reduce during wgrad.
void check_pairs(Resolution& r, const TensorRequests& slots) {
  for (const auto& [dgrad, wgrad] : {std::pair(TensorSlot::qkv_dgrad, TensorSlot::qkv_wgrad),
                                     std::pair(TensorSlot::fc1_dgrad, TensorSlot::fc1_wgrad)}) {
    const auto method = method_of(slots[static_cast<std::size_t>(dgrad)]);
    const std::string_view path = kTensorSlotPaths[static_cast<std::size_t>(wgrad)];
    if (!method || !splits_gemm(*method) || slots[static_cast<std::size_t>(wgrad)] == TensorSlotRequest{}) continue;
    r.error({path, kTensorSlotPaths[static_cast<std::size_t>(dgrad)]},
            fmt::format("{} is {}, which reduces dgrad with its own GEMM, so {} has nothing to reduce; set {} to null",
                        kTensorSlotNames[dgrad], kTensorMethodNames[*method], kTensorSlotNames[wgrad], path));
  }
}

}  // namespace

TensorConfig read_tensor_config(Resolution& r) {
  TensorConfig config{.preset = read_preset(r), .slots = {}};
  if (config.preset) config.slots = config.preset->slots;
  for (std::size_t i = 0; i < kNumTensorSlots; ++i) {
    if (r.settings[kTensorSlotPaths[i]].is_null) config.slots[i] = {};
    if (!r.settings.given(kTensorSlotPaths[i])) continue;
    const Node& node = *r.settings[kTensorSlotPaths[i]].node;
    config.slots[i] = merged(config.slots[i], EntryReader(r, static_cast<TensorSlot>(i)).read(node));
  }
  check_pairs(r, config.slots);
  return config;
}

}  // namespace underlap::plan
