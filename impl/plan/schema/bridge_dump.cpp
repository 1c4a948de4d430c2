// SPDX-License-Identifier: Apache-2.0
// A dump contains every field of every dataclass, so a value may not be the user's choice: `ddp.overlap_grad_reduce:
// false` is a default that CommOverlapConfig overwrites. Some fields have other names than ours, or none.
#include "impl/plan/schema/foreign_configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "platform/text/list.hpp"

namespace underlap::plan {
namespace {

bool is_ours(std::string_view section) {
  return section == "run" || section == "extensions" || section == "environment";
}

/// Fields whose information has another name here.
bool is_read_for_the_model(std::string_view path) {
  constexpr std::array<std::string_view, 4> kFields = {"model.activation_func", "model.gated_linear_unit",
                                                       "model.should_pad_vocab", "model.make_vocab_size_divisible_by"};
  return std::ranges::find(kFields, path) != kFields.end();
}

/// Bridge's GPT config since 2026 keeps the fields of Megatron Core's TransformerConfig in a mapping of their own.
constexpr std::string_view kTransformer = "transformer";

/// A field of the model, in whichever of the two mappings; nullptr: in none.
const Entry* find_field(const Node& model, std::string_view name) {
  if (const Entry* own = find_entry(model, name)) return own;
  const Entry* transformer = find_entry(model, kTransformer);
  return transformer == nullptr ? nullptr : find_entry(*transformer->value, name);
}

/// Llama 3's. The vocabulary decides the size of embedding and head alone.
constexpr std::int64_t kUsualVocabulary = 128'256;

/// Parts of the names of models that are no decoders of text, or more than one. Fails when such a model has another
/// name: it is then planned as a decoder, without a note.
constexpr std::array<std::string_view, 8> kOtherModels = {"T5", "Bert", "VL", "Omni", "Mimo", "Audio", "Wan", "Flux"};

/// `_target_`, `_call_`, `_args_`: how the value is made again.
bool is_of_hydra(std::string_view key) { return key.starts_with("_"); }

constexpr std::size_t kMostIgnored = 6;  // that are named

class DumpReader {
 public:
  DumpReader(Settings& settings, const Node& root, Problems& problems)
      : settings_(settings), root_(root), problems_(problems) {}

  void read() {
    for (const Entry& entry : root_.entries) read_top(entry);
    settings_.settle();
    warn_overwritten();
    if (!ignored_.empty())
      notice({}, fmt::format("{} {} ignored as irrelevant to the plan: {}", ignored_.size(),
                             ignored_.size() == 1 ? "key is" : "keys are", short_list(ignored_, kMostIgnored)));
    if (!settings_.given("data_parallel_size") && !settings_.given("world_size"))
      notice({},
             "a dump does not contain the number of GPUs: data_parallel_size is assumed to be 1; write it or "
             "world_size into the file");
    if (const Entry* model = find_entry(root_, "model")) {
      fill_model(*model->value);
      warn_other_models(*model->value);
    }
    check_data_length();
  }

 private:
  void notice(Place place, std::string message) { settings_.notices.emplace_back(place, std::move(message)); }

  /// comm_overlap: {_target_: megatron.bridge.training.comm_overlap.CommOverlapConfig, align_param_gather: null, ...}
  void read_top(const Entry& entry) {
    const std::string& key = entry.key;
    const Node& value = *entry.value;
    if (is_of_hydra(key) || key == "matrix" || key.starts_with("x-") || value.kind == Node::Kind::null) return;
    if (is_ours(key)) return read_ours(entry);
    if (is_section(key) && value.kind == Node::Kind::mapping) return read_bridge_section(entry);
    if (const auto row = find_row(key)) return add_candidate(*row, key, entry);
    ignored_.push_back(key);
  }

  void read_ours(const Entry& entry) {
    if (entry.value->kind == Node::Kind::mapping)
      read_section(settings_, entry.key + ".", *entry.value, problems_);
    else
      problems_.add(entry.value->place,
                    fmt::format("{} must be a mapping of settings, not {}", entry.key, describe(*entry.value)));
  }

  void read_bridge_section(const Entry& section) { read_fields(section.key + ".", *section.value); }

  void read_fields(const std::string& prefix, const Node& section) {
    for (const Entry& entry : section.entries) {
      const std::string path = prefix + entry.key;
      const auto row = find_row(path);
      if (is_of_hydra(entry.key)) continue;
      if (prefix == "model." && entry.key == kTransformer)
        read_fields(prefix, *entry.value);
      else if (is_section(path) && entry.value->kind == Node::Kind::mapping)
        read_fields(path + ".", *entry.value);
      else if (row)
        add_candidate(*row, path, entry);
      else if (prefix.find("tp_comm_overlap_cfg.") != prefix.npos)
        problems_.add(entry.place, fmt::format("unknown key {}{}", in_quotes(path), suggestion(path)));
      else if (!is_read_for_the_model(path))
        ignored_.push_back(path);
    }
  }

  void add_candidate(std::size_t row, const std::string& path, const Entry& entry) {
    const Node* value = entry.value;
    // Gemma's layers of two kinds turn by frequencies of two kinds.
    if (path == "model.rotary_base" && !value->items.empty()) {
      value = value->items.front();
      notice(entry.place, fmt::format("{} lists one for each kind of layer: the first, {}, is used for all; the others "
                                      "rotate as many features in the same time",
                                      path, value->text));
    }
    Setting setting = read_setting(row, path, entry.place, *value, problems_);
    if (setting.state != Setting::State::absent) settings_.add(row, std::move(setting));
  }

  void warn_overwritten() {
    std::vector<std::string> names;
    for (const auto& [row, setting] : settings_.overwritten) names.emplace_back(setting.spelling);
    if (!names.empty())
      notice(settings_.overwritten.front().second.place,
             fmt::format("Megatron-Bridge overwrites {} copies with values from comm_overlap and mixed_precision: {}",
                         names.size(), short_list(names, kMostIgnored)));
  }

  // Fields of the model that Megatron Core fills or names in its own way.

  void put_integer(std::string_view path, std::int64_t value, Place place) {
    const std::size_t row = row_index(path);
    settings_.put(row, {Setting::State::given, value, place, rows()[row].path});
  }

  void warn_other_models(const Node& model) {
    const Entry* target = find_entry(model, "_target_");
    if (target == nullptr) return;
    const std::string name = target->value->text.substr(target->value->text.rfind('.') + 1);
    if (std::ranges::any_of(kOtherModels, [&](std::string_view part) { return name.find(part) != name.npos; }))
      notice(target->place,
             fmt::format("{} is planned as one text decoder: its encoders and other attention are not planned", name));
  }

  void check_data_length() {
    const Entry* data = find_entry(root_, "dataset");
    const Entry* length = data == nullptr ? nullptr : find_entry(*data->value, "seq_length");
    if (length == nullptr || length->value->kind != Node::Kind::scalar || !settings_.given("model.seq_length")) return;
    const std::string own = fmt::format("{}", settings_.integer("model.seq_length", 0));
    if (length->value->text != own)
      problems_.add(length->place, fmt::format("dataset.seq_length is {}, but model.seq_length is {}: Megatron-Bridge "
                                               "fails if they differ; make them agree",
                                               length->value->text, own));
  }

  void fill_model(const Node& model) {
    if (settings_.given("model.preset")) return;
    fill_from("model.seq_length", {{"dataset", "seq_length"}, {"dataset", "sequence_length"}}, model.place);
    if (!fill_from("model.vocab_size", {{"tokenizer", "vocab_size"}}, model.place)) {
      put_integer("model.vocab_size", kUsualVocabulary, model.place);
      notice(model.place,
             fmt::format("model.vocab_size is null, since the tokenizer sets it: using {}; change it with --vocab-size",
                         kUsualVocabulary));
    }
    const std::int64_t heads = settings_.integer("model.num_attention_heads", 0);
    const std::int64_t hidden = settings_.integer("model.hidden_size", 0);
    if (!settings_.given("model.num_query_groups") && heads > 0)
      put_integer("model.num_query_groups", heads, settings_["model.num_attention_heads"].place);
    if (!settings_.given("model.ffn_hidden_size") && hidden > 0)
      put_integer("model.ffn_hidden_size", 4 * hidden, settings_["model.hidden_size"].place);
    pad_vocabulary(model);
    name_activation(model);
  }

  /// Takes a field that is null from the first of other sections that has it. Whether it has a value.
  bool fill_from(std::string_view path, std::initializer_list<std::pair<const char*, const char*>> fields,
                 Place place) {
    if (settings_.given(path) || settings_.invalid(path)) return true;
    for (const auto& [section, field] : fields) {
      const Entry* in = find_entry(root_, section);
      const Entry* entry = in == nullptr ? nullptr : find_entry(*in->value, field);
      if (entry == nullptr || entry->value->kind != Node::Kind::scalar) continue;
      const Row row{.path = path, .type = Type::integer, .range = {1, 1e9}};
      const auto value = read_value(row, *entry->value, problems_);
      const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
      if (number == nullptr) continue;
      put_integer(path, *number, entry->place);
      notice(place, fmt::format("{} is null: using {}.{}, {}", path, section, field, *number));
      return true;
    }
    return false;
  }

  void pad_vocabulary(const Node& model) {
    const Entry* pads = find_field(model, "should_pad_vocab");
    const std::int64_t vocabulary = settings_.integer("model.vocab_size", 0);
    if (pads == nullptr || pads->value->text != "true" || vocabulary == 0) return;
    const Entry* multiple = find_field(model, "make_vocab_size_divisible_by");
    const Row whole{.path = "model.make_vocab_size_divisible_by", .type = Type::integer, .range = {1, 1e9}};
    std::int64_t divisor = 128;
    if (multiple != nullptr)
      if (const auto value = read_value(whole, *multiple->value, problems_); value)
        if (const auto* number = std::get_if<std::int64_t>(&*value)) divisor = *number;
    divisor *= settings_.integer(kTp, 1);
    put_integer("model.vocab_size", (vocabulary + divisor - 1) / divisor * divisor,
                settings_["model.vocab_size"].place);
  }

  void name_activation(const Node& model) {
    const Entry* gated = find_field(model, "gated_linear_unit");
    const Entry* function = find_field(model, "activation_func");
    if (gated == nullptr && function == nullptr) return;
    std::string name = "gelu";
    if (function != nullptr && function->value->kind == Node::Kind::scalar) name = function->value->text;
    if (function != nullptr)
      if (const Entry* target = find_entry(*function->value, "_target_")) name = target->value->text;
    name = name.substr(name.rfind('.') + 1);
    const bool is_gated = gated != nullptr && gated->value->text == "true";
    const std::string taken = is_gated ? "swiglu" : name == "squared_relu" ? "squared_relu" : "gelu";
    const Place place = (gated != nullptr ? gated : function)->place;
    if (taken != name && !(is_gated && name == "silu"))
      notice(place, fmt::format("activation {}{} is planned as {}: its sizes are the same", is_gated ? "gated " : "",
                                in_quotes(name), taken));
    const std::size_t row = row_index("model.activation");
    settings_.put(row, {Setting::State::given, taken, place, rows()[row].path});
  }

  Settings& settings_;
  const Node& root_;
  Problems& problems_;
  std::vector<std::string> ignored_;
};

}  // namespace

bool is_bridge_dump(const Node& root) {
  return find_entry(root, "_target_") != nullptr || std::ranges::any_of(root.entries, [](const Entry& entry) {
           return find_entry(*entry.value, "_target_") != nullptr;
         });
}

void read_bridge_dump(Settings& settings, const Node& root, Problems& problems) {
  DumpReader(settings, root, problems).read();
  settings.is_dump = true;
  const Entry* overlap = find_entry(root, "comm_overlap");
  if (overlap != nullptr && overlap->value->kind == Node::Kind::null)
    settings.without_overlap_rules = "comm_overlap is null in a Megatron-Bridge dump";
}

}  // namespace underlap::plan
