// SPDX-License-Identifier: Apache-2.0
// Reads tp_comm_overlap_cfg: a preset's name, or entries for slots as Megatron-Bridge's classes and Transformer
// Engine's initialize_ub name their fields. An entry that names one of Bridge's classes in `_target_` has that class's
// own defaults; any other is laid over Transformer Engine's.
#include "impl/plan/rules/tensor_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "impl/plan/schema/paths.hpp"
#include "platform/suggestion.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kPresetPrefix = "userbuffers_";

using enum Type;

// 32 is the most that userbuffers' kernels take, 8 the most blocks of a portable cluster.
constexpr auto kFields = std::to_array<Row>({
    {.path = "method", .type = text, .choices = "bulk ring_exchange pipeline nccl waited"},
    {.path = "aggregate"},
    {.path = "num_sm", .type = integer, .range = {1, 32}},
    {.path = "cga_size", .type = integer, .range = {1, 8}},
    {.path = "set_sm_margin"},
    {.path = "num_splits", .type = integer, .range = {1, 1024}},
    {.path = "fp8_buf"},
    {.path = "atomic_gemm"},
    {.path = "use_ce"},
    {.path = "pipeline_rs_overlap_first_gemm"},
    {.path = "comm_priority", .type = integer},
    {.path = "gemm_priority", .type = integer},
});

/// Bridge's classes for `_target_`, with what an entry of that class says without being written.
struct EntryClass {
  std::string_view name;
  TensorSlotRequest defaults;
};
constexpr EntryClass kClasses[] = {
    {"BulkOverlapCfg", {.method = TensorMethod::bulk}},
    {"RingExchangeOverlapCfg",
     {.method = TensorMethod::ring_exchange,
      .aggregate = false,
      .num_sm = 1,
      .cga_size = 1,
      .set_sm_margin = false,
      .fp8_buf = false}},
    {"PipelineOverlapCfg", {.method = TensorMethod::pipeline, .fp8_buf = true, .fp8_buf_is_tuple = true}},
};

std::vector<std::string_view> names_of(const auto& rows, auto name) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.*name);
  return names;
}

/// Reads the entry of one slot.
class EntryReader {
 public:
  EntryReader(Resolution& resolution, TensorSlot slot)
      : r_(resolution), slot_(slot), path_(kTensorSlotPaths[static_cast<std::size_t>(slot)]) {}

  TensorSlotRequest read(const Node& node) {
    if (node.kind == Node::Kind::mapping)
      for (const Entry& entry : node.entries) read_entry(entry);
    else
      r_.problems.add(node.place, fmt::format("{} must be a mapping of fields such as {{method: bulk}}, or null for "
                                              "Transformer Engine's default, not {}",
                                              path_, describe(node)));
    request_ = laid_over(of_class_, request_);
    check_method(method_place_.value_or(node.place));
    return request_;
  }

 private:
  void read_entry(const Entry& entry) {
    if (entry.key == "_target_") return read_class(*entry.value);
    const auto* row = std::find_if(kFields.begin(), kFields.end(), [&](const Row& f) { return f.path == entry.key; });
    if (row == kFields.end())
      r_.problems.add(entry.place, fmt::format("{} has no field {}{}", path_, in_quotes(entry.key),
                                               did_you_mean(entry.key, names_of(kFields, &Row::path))));
    else if (entry.key == "fp8_buf" && is_tuple_of_false(*entry.value))
      set_tuple();
    else
      read_field(*row, *entry.value);
  }

  void read_class(const Node& node) {
    const std::string_view name = std::string_view(node.text).substr(node.text.rfind('.') + 1);
    for (const EntryClass& of : kClasses)
      if (of.name == name) {
        of_class_ = of.defaults;
        return;
      }
    r_.problems.add(node.place, fmt::format("{} has no class {}{}", path_, in_quotes(node.text),
                                            did_you_mean(name, names_of(kClasses, &EntryClass::name))));
  }

  static bool is_tuple_of_false(const Node& node) {
    return node.kind == Node::Kind::sequence && node.items.size() == 1 &&
           (node.items[0]->text == "false" || node.items[0]->text == "False");
  }
  void set_tuple() {
    request_.fp8_buf = true;
    request_.fp8_buf_is_tuple = true;
  }

  void read_field(const Row& field, const Node& written) {
    const std::string path = fmt::format("{}.{}", path_, field.path);
    Row row = field;
    row.path = path;
    Node node = written;
    // Megatron-LM's own files write 0 and 1 for flags.
    if (row.type == boolean && !node.is_quoted && (node.text == "0" || node.text == "1"))
      node.text = node.text == "1" ? "true" : "false";
    const auto value = read_value(row, node, r_.problems);
    if (!value || std::holds_alternative<std::monostate>(*value)) return;
    if (field.path == "method") method_place_ = node.place;
    put(field.path, *value, node.place);
  }

  void put(std::string_view field, const Value& value, Place place) {
    const auto flag = [&] { return std::get<bool>(value); };
    const auto number = [&] { return static_cast<int>(std::get<std::int64_t>(value)); };
    if (field == "method") request_.method = kTensorMethodNames.find(std::get<std::string>(value));
    if (field == "aggregate") put_aggregate(flag(), place);
    if (field == "num_sm") request_.num_sm = number();
    if (field == "cga_size") request_.cga_size = number();
    if (field == "set_sm_margin") request_.set_sm_margin = flag();
    if (field == "num_splits") request_.num_splits = number();
    if (field == "fp8_buf") request_.fp8_buf = flag();
    if (field == "atomic_gemm" && flag())
      r_.problems.add(place, fmt::format("{}.atomic_gemm cannot be true: a GEMM that counts its finished parts in "
                                         "device memory cannot be expressed by streams and events; leave it out",
                                         path_));
    if (field == "use_ce" && !flag()) refuse(place, "use_ce false", "extensions.tp_ring_transport: nccl moves by SMs");
    if (field == "pipeline_rs_overlap_first_gemm" && flag()) refuse(place, field, "leave it out");
    if (field == "comm_priority" || field == "gemm_priority") refuse(place, field, "leave it out");
  }

  void put_aggregate(bool aggregate, Place place) {
    request_.aggregate = aggregate;
    const std::int64_t tp = r_.config().parallel.tensor_model_parallel_size;
    if (aggregate && tp > 1 && tp % 2 != 0)
      r_.problems.add(place,
                      fmt::format("{}.aggregate moves parts in pairs, and {} is {}; it must be even", path_, kTp, tp));
  }

  void refuse(Place place, std::string_view what, std::string_view instead) {
    r_.plan.not_run.push_back(
        {r_.problems.text(place),
         fmt::format("{}: {} is known by name but not run by this version; {}", path_, what, instead)});
  }

  void check_method(Place place) {
    using enum TensorMethod;
    const TensorMethod method = request_.method.value_or(nccl);
    if (method == nccl || method == waited) return;
    const auto wrong = [&](std::string_view why) {
      r_.problems.add(place, fmt::format("{} has no {}: {}", path_, kTensorMethodNames[method], why));
    };
    switch (kind_of(slot_)) {
      case TensorSlotKind::gather_gemm:
        if (method == bulk) wrong("the GEMM needs what is gathered; use ring_exchange");
        if (method == pipeline) wrong("pipeline reduces, and this slot gathers; use ring_exchange");
        break;
      case TensorSlotKind::gemm_scatter:
        if (method == bulk) wrong("what is reduced is what the GEMM makes; use pipeline or ring_exchange");
        break;
      case TensorSlotKind::column_wgrad:
        if (method != bulk) wrong("the GEMM neither needs nor makes what is reduced beside it; use bulk");
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
            fmt::format(
                "tp_comm_overlap_cfg must be the name of a userbuffers preset, or a mapping from GEMMs to settings, "
                "not {}; underlap list presets names them",
                describe(node)));
    return std::nullopt;
  }
  auto preset = find_userbuffers_preset(node.text);
  // Each of Bridge's names begins so, and they are often cited without.
  const std::string_view prefix = node.text.starts_with(kPresetPrefix) ? "" : kPresetPrefix;
  if (!preset)
    r.error({kTensorOverlapConfig},
            fmt::format("no userbuffers preset is named {}{}", in_quotes(node.text),
                        did_you_mean(fmt::format("{}{}", prefix, node.text), userbuffers_preset_names())));
  return preset;
}

/// With rs_dgrad the dgrad GEMM's own output is reduced, so nothing is left to reduce beside wgrad.
void check_pairs(Resolution& r, const TensorRequests& slots) {
  for (const auto& [dgrad, wgrad] : {std::pair(TensorSlot::qkv_dgrad, TensorSlot::qkv_wgrad),
                                     std::pair(TensorSlot::fc1_dgrad, TensorSlot::fc1_wgrad)}) {
    const auto method = slots[static_cast<std::size_t>(dgrad)].method;
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
    config.slots[i] = laid_over(config.slots[i], EntryReader(r, static_cast<TensorSlot>(i)).read(node));
  }
  check_pairs(r, config.slots);
  return config;
}

}  // namespace underlap::plan
