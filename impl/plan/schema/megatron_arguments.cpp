// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's command line: each argument is a knob under a name of its own, some are switches that turn one off, and
// what is left out has other defaults than in Megatron-Bridge. The list becomes a document of the same sections as a
// configuration, with the places of its words, and is read as one.
#include "impl/plan/schema/megatron_arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

namespace underlap::plan {
namespace {

enum class Takes : std::uint8_t { value, list, nothing };

struct Argument {
  std::string_view name, path;
  Takes takes = Takes::value;
  std::string_view says = "true";  ///< of a switch
};

constexpr auto kSwitch = Takes::nothing;
constexpr auto kArguments = std::to_array<Argument>({
    {"accumulate-allreduce-grads-in-fp32", "mixed_precision.grad_reduce_in_fp32", kSwitch},
    {"adam-beta1", "optimizer.adam_beta1"},
    {"adam-beta2", "optimizer.adam_beta2"},
    {"adam-eps", "optimizer.adam_eps"},
    {"account-for-embedding-in-pipeline-split", "model.account_for_embedding_in_pipeline_split", kSwitch},
    {"account-for-loss-in-pipeline-split", "model.account_for_loss_in_pipeline_split", kSwitch},
    {"bf16", "mixed_precision.bf16", kSwitch},
    {"clip-grad", "optimizer.clip_grad"},
    {"context-parallel-size", "model.context_parallel_size"},
    {"cp-comm-type", "model.cp_comm_type", Takes::list},
    {"cpu-offloading", "model.cpu_offloading", kSwitch},
    {"cpu-offloading-num-layers", "model.cpu_offloading_num_layers"},
    {"data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy"},
    {"ddp-average-in-collective", "ddp.average_in_collective", kSwitch},
    {"ddp-bucket-size", "ddp.bucket_size"},
    {"ddp-num-buckets", "ddp.num_buckets"},
    {"ddp-pad-buckets-for-high-nccl-busbw", "ddp.pad_buckets_for_high_nccl_busbw", kSwitch},
    {"ddp-reduce-scatter-with-fp32-accumulation", "ddp.reduce_scatter_with_fp32_accumulation", kSwitch},
    {"decoder-first-pipeline-num-layers", "model.num_layers_in_first_pipeline_stage"},
    {"decoder-last-pipeline-num-layers", "model.num_layers_in_last_pipeline_stage"},
    {"defer-embedding-wgrad-compute", "model.defer_embedding_wgrad_compute", kSwitch},
    {"delay-wgrad-compute", "model.delay_wgrad_compute", kSwitch},
    {"deterministic-mode", "model.deterministic_mode", kSwitch},
    {"disable-bias-linear", "model.add_bias_linear", kSwitch, "false"},
    {"disable-tp-comm-bulk-dgrad", "model.tp_comm_bulk_dgrad", kSwitch, "false"},
    {"disable-tp-comm-bulk-wgrad", "model.tp_comm_bulk_wgrad", kSwitch, "false"},
    {"disable-tp-comm-overlap-ag", "model.tp_comm_overlap_ag", kSwitch, "false"},
    {"disable-tp-comm-overlap-rs", "model.tp_comm_overlap_rs", kSwitch, "false"},
    {"expert-model-parallel-size", "model.expert_model_parallel_size"},
    {"ffn-hidden-size", "model.ffn_hidden_size"},
    {"first-last-layers-bf16", "mixed_precision.first_last_layers_bf16", kSwitch},
    {"fp16", "mixed_precision.fp16", kSwitch},
    {"fp8-format", "mixed_precision.fp8"},
    {"fp8-param-gather", "mixed_precision.fp8_param_gather", kSwitch},
    {"fp8-recipe", "mixed_precision.fp8_recipe"},
    {"fsdp-double-buffer", "ddp.fsdp_double_buffer", kSwitch},
    {"global-batch-size", "train.global_batch_size"},
    {"grad-reduce-in-bf16", "mixed_precision.grad_reduce_in_fp32", kSwitch, "false"},
    {"hidden-size", "model.hidden_size"},
    {"hierarchical-context-parallel-sizes", "model.hierarchical_context_parallel_sizes", Takes::list},
    {"lr", "optimizer.lr"},
    {"micro-batch-size", "train.micro_batch_size"},
    {"microbatch-group-size-per-virtual-pipeline-stage", "model.microbatch_group_size_per_vp_stage"},
    {"moe-ffn-hidden-size", "model.moe_ffn_hidden_size"},
    {"moe-router-topk", "model.moe_router_topk"},
    {"moe-shared-expert-intermediate-size", "model.moe_shared_expert_intermediate_size"},
    {"moe-shared-expert-overlap", "model.moe_shared_expert_overlap", kSwitch},
    {"moe-token-dispatcher-type", "model.moe_token_dispatcher_type"},
    {"nccl-ub", "ddp.nccl_ub", kSwitch},
    {"no-align-grad-reduce", "ddp.align_grad_reduce", kSwitch, "false"},
    {"no-align-param-gather", "ddp.align_param_gather", kSwitch, "false"},
    {"no-check-for-nan-in-loss-and-grad", "ddp.check_for_nan_in_grad", kSwitch, "false"},
    {"no-gradient-accumulation-fusion", "model.gradient_accumulation_fusion", kSwitch, "false"},
    {"no-overlap-p2p-communication", "model.overlap_p2p_comm", kSwitch, "false"},
    {"normalization", "model.normalization"},
    {"num-attention-heads", "model.num_attention_heads"},
    {"num-distributed-optimizer-instances", "ddp.num_distributed_optimizer_instances"},
    {"num-experts", "model.num_moe_experts"},
    {"num-layers", "model.num_layers"},
    {"num-layers-at-end-in-bf16", "mixed_precision.num_layers_at_end_in_bf16"},
    {"num-layers-at-start-in-bf16", "mixed_precision.num_layers_at_start_in_bf16"},
    {"num-query-groups", "model.num_query_groups"},
    {"num-virtual-stages-per-pipeline-rank", "model.virtual_pipeline_model_parallel_size"},
    {"overlap-grad-reduce", "ddp.overlap_grad_reduce", kSwitch},
    {"overlap-moe-expert-parallel-comm", "model.overlap_moe_expert_parallel_comm", kSwitch},
    {"overlap-p2p-communication-warmup-flush", "model.overlap_p2p_comm_warmup_flush", kSwitch},
    {"overlap-param-gather", "ddp.overlap_param_gather", kSwitch},
    {"overlap-param-gather-with-optimizer-step", "optimizer.overlap_param_gather_with_optimizer_step", kSwitch},
    {"pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout"},
    {"pipeline-model-parallel-size", "model.pipeline_model_parallel_size"},
    {"position-embedding-type", "model.position_embedding_type"},
    {"recompute-activations", "model.recompute_granularity", kSwitch, "selective"},
    {"recompute-granularity", "model.recompute_granularity"},
    {"recompute-method", "model.recompute_method"},
    {"recompute-modules", "model.recompute_modules", Takes::list},
    {"recompute-num-layers", "model.recompute_num_layers"},
    {"rotary-base", "model.rotary_base"},
    {"rotary-percent", "model.rotary_percent"},
    {"seq-length", "model.seq_length"},
    {"sequence-parallel", "model.sequence_parallel", kSwitch},
    {"squared-relu", "model.activation", kSwitch, "squared_relu"},
    {"suggested-communication-unit-size", "ddp.suggested_communication_unit_size"},
    {"swiglu", "model.activation", kSwitch, "swiglu"},
    {"tensor-model-parallel-size", "model.tensor_model_parallel_size"},
    {"tp-comm-bootstrap-backend", "model.tp_comm_bootstrap_backend"},
    {"tp-comm-overlap", "model.tp_comm_overlap", kSwitch},
    {"tp-comm-overlap-rs-dgrad", "model.tp_comm_overlap_rs_dgrad", kSwitch},
    {"untie-embeddings-and-output-weights", "model.share_embeddings_and_output_weights", kSwitch, "false"},
    {"use-distributed-optimizer", "ddp.use_distributed_optimizer", kSwitch},
    {"use-megatron-fsdp", "ddp.use_megatron_fsdp", kSwitch},
    {"use-precision-aware-optimizer", "optimizer.use_precision_aware_optimizer", kSwitch},
    {"vocab-size", "model.vocab_size"},
    {"weight-decay", "optimizer.weight_decay"},
    {"wgrad-deferral-limit", "model.wgrad_deferral_limit"},
    {"world-size", "world_size"},
});

/// What arguments.py has where nothing is written, and Megatron-Bridge or this program otherwise.
constexpr std::pair<std::string_view, std::string_view> kDefaults[] = {
    {"ddp.use_distributed_optimizer", "false"},
    {"ddp.check_for_nan_in_grad", "true"},
    {"model.activation", "gelu"},
    {"model.add_bias_linear", "true"},
    {"model.normalization", "LayerNorm"},
    {"model.share_embeddings_and_output_weights", "true"},
    {"model.deallocate_pipeline_outputs", "true"},
    {"mixed_precision.fp8_param_gather", "false"},
};

/// A word of the list, and where it stands.
struct Word {
  std::string text;
  Place place;
  bool is_argument() const {
    return text.size() > 2 && text.starts_with("--") && std::isalpha(static_cast<unsigned char>(text[2])) != 0;
  }
  /// NAME=value in front of the command.
  bool is_variable() const {
    return text.find('=') != text.npos && std::isupper(static_cast<unsigned char>(text[0])) != 0;
  }
};

/// Words between blanks, without what belongs to the shell: comments, line continuations, quotes and the brackets of an
/// array.
std::vector<Word> words_of(const std::string& text) {
  std::vector<Word> words;
  Place here{.line = 1, .column = 1};
  Word open;
  const auto close = [&] {
    if (!open.text.empty() && open.text != "export") words.push_back(std::exchange(open, {}));
    open = {};
  };
  bool in_comment = false;
  for (const char c : text) {
    if (c == '\n') in_comment = false;
    const bool begins_comment = c == '#' && open.text.empty();
    in_comment = in_comment || begins_comment;
    if (in_comment || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\' || c == '(' || c == ')') {
      if (c == '(' && !open.text.empty() && open.text.back() == '=') open = {};  // ARGS=( ... )
      close();
    } else if (c != '"' && c != '\'') {
      if (open.text.empty()) open.place = here;
      open.text += c;
    }
    here = c == '\n' ? Place{.line = here.line + 1, .column = 1} : Place{.line = here.line, .column = here.column + 1};
  }
  close();
  return words;
}

/// A size that reading will take, as a number; anything else is `otherwise` here, and an error there.
std::int64_t size_of(const std::string& digits, std::int64_t otherwise) {
  constexpr std::size_t kMostDigits = 9;
  const bool is_number = !digits.empty() && digits.size() <= kMostDigits &&
                         std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  const std::int64_t size = is_number ? std::stoll(digits) : 0;
  return size > 0 ? size : otherwise;
}

/// Builds the document of a configuration out of paths and values.
class Builder {
 public:
  explicit Builder(Document& document) : document_(document) { document_.root = &add_node(Node::Kind::mapping, {}); }

  /// The last value of a path counts, as in argparse.
  void put(std::string_view path, Place place, const Node& value) {
    const std::size_t dot = path.find('.');
    if (dot == path.npos) return put_entry(root(), path, place, &value);
    const std::string section(path.substr(0, dot));
    auto& node = sections_[section];
    if (node == nullptr) {
      node = &add_node(Node::Kind::mapping, place);
      root().entries.push_back({section, place, node});
    }
    put_entry(*node, path.substr(dot + 1), place, &value);
  }
  void put(std::string_view path, Place place, std::string text) {
    Node& node = add_node(Node::Kind::scalar, place);
    node.text = std::move(text);
    put(path, place, node);
  }
  void put_null(std::string_view path, Place place) { put(path, place, add_node(Node::Kind::null, place)); }
  void put(std::string_view path, Place place, std::span<const Word> list) {
    Node& node = add_node(Node::Kind::sequence, place);
    for (const Word& word : list) {
      Node& item = add_node(Node::Kind::scalar, word.place);
      item.text = word.text;
      node.items.push_back(&item);
    }
    put(path, place, node);
  }

  /// The entry of a path; nullptr: none.
  const Entry* find(std::string_view path) const {
    const auto section = sections_.find(std::string(path.substr(0, path.find('.'))));
    return section == sections_.end() ? nullptr : find_entry(*section->second, path.substr(path.find('.') + 1));
  }
  std::string text(std::string_view path) const {
    const Entry* entry = find(path);
    return entry == nullptr ? "" : entry->value->text;
  }
  bool is_on(std::string_view path) const { return text(path) == "true"; }
  std::int64_t size(std::string_view path, std::int64_t otherwise) const { return size_of(text(path), otherwise); }

 private:
  Node& root() { return *root_; }
  Node& add_node(Node::Kind kind, Place place) {
    Node& node = document_.nodes.emplace_back();
    node.kind = kind;
    node.place = place;
    if (root_ == nullptr) root_ = &node;
    return node;
  }
  static void put_entry(Node& mapping, std::string_view key, Place place, const Node* value) {
    const auto old = std::ranges::find(mapping.entries, key, &Entry::key);
    if (old == mapping.entries.end())
      mapping.entries.push_back({std::string(key), place, value});
    else
      *old = {std::string(key), place, value};
  }

  Document& document_;
  Node* root_ = nullptr;
  std::map<std::string, Node*> sections_;
};

class ArgumentReader {
 public:
  ArgumentReader(Document& document, Problems& problems) : builder_(document), problems_(problems) {}

  void read(const std::vector<Word>& words) {
    for (std::size_t i = 0; i < words.size();) {
      const std::size_t begin = i++;
      while (i < words.size() && !words[i].is_argument()) ++i;
      if (words[begin].is_argument())
        read_argument(words[begin], std::span(words).subspan(begin + 1, i - begin - 1));
      else
        i = begin + 1;
      if (words[begin].is_variable()) read_variable(words[begin]);
    }
    fill_defaults();
    check();
  }

  const Builder& built() const { return builder_; }
  std::vector<std::string> ignored;
  bool has_vocabulary() const { return builder_.find("model.vocab_size") != nullptr; }

 private:
  void read_argument(const Word& word, std::span<const Word> values) {
    const std::size_t equals = word.text.find('=');
    std::string name = word.text.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '_', '-');
    std::vector<Word> all(values.begin(), values.end());
    if (equals != std::string::npos) all.insert(all.begin(), Word{word.text.substr(equals + 1), word.place});
    if (name == "num-layers-per-virtual-pipeline-stage" && !all.empty())
      layers_of_chunk_ = all.front();
    else if (name == "group-query-attention")
      has_groups_ = true;
    else if (name == "make-vocab-size-divisible-by" && !all.empty())
      divisor_ = all.front();
    else if (const auto* known = std::ranges::find(kArguments, name, &Argument::name); known != kArguments.end())
      put(*known, word, all);
    else
      ignored.push_back("--" + name);
  }

  void put(const Argument& argument, const Word& word, const std::vector<Word>& values) {
    if (argument.takes == Takes::nothing)
      builder_.put(argument.path, word.place, std::string(argument.says));
    else if (values.empty())
      problems_.add(word.place, fmt::format("--{} has no value; write one behind it", argument.name));
    else if (argument.takes == Takes::list && values.size() > 1)
      builder_.put(argument.path, word.place, std::span<const Word>(values));
    else
      builder_.put(argument.path, word.place, values.front().text);
  }

  void read_variable(const Word& word) {
    const std::size_t equals = word.text.find('=');
    const std::string path = "env_vars." + word.text.substr(0, equals);
    if (find_row(path)) builder_.put(path, word.place, word.text.substr(equals + 1));
  }

  void put_default(std::string_view path, std::string value, Place place = {}) {
    if (builder_.find(path) == nullptr) builder_.put(path, place, std::move(value));
  }

  void fill_defaults() {
    for (const auto& [path, value] : kDefaults) put_default(path, std::string(value));
    fill_pipeline();
    if (const std::string heads = builder_.text("model.num_attention_heads"); !has_groups_ && !heads.empty())
      builder_.put("model.num_query_groups", {}, heads);
    const std::int64_t hidden = builder_.size("model.hidden_size", 0);
    if (hidden > 0 && builder_.text("model.activation") == "swiglu")
      put_default("model.ffn_hidden_size", fmt::format("{}", hidden * 8 / 3 / 64 * 64));
    if (builder_.find("mixed_precision.fp8") != nullptr) put_default("mixed_precision.fp8_recipe", "delayed");
    const bool is_bf16 = builder_.is_on("mixed_precision.bf16");
    put_default("mixed_precision.grad_reduce_in_fp32", is_bf16 ? "true" : "false");
    pad_vocabulary();
  }

  /// Virtual stages, whose transfers overlap and whose gathers are aligned unless somebody says otherwise.
  void fill_pipeline() {
    constexpr std::string_view kVpp = "model.virtual_pipeline_model_parallel_size";
    const std::int64_t stages = builder_.size("model.pipeline_model_parallel_size", 1);
    const std::int64_t layers = builder_.size("model.num_layers", 0);
    if (!layers_of_chunk_.text.empty()) {
      const std::int64_t of_chunk = size_of(layers_of_chunk_.text, 0);
      if (of_chunk == 0 || layers % (stages * of_chunk) != 0)
        problems_.add(layers_of_chunk_.place,
                      fmt::format("--num-layers-per-virtual-pipeline-stage is {}, and {} layers on {} stages are no "
                                  "multiple of it; change one of them",
                                  layers_of_chunk_.text, layers, stages));
      else
        builder_.put(kVpp, layers_of_chunk_.place, fmt::format("{}", layers / stages / of_chunk));
    }
    // Its command line takes one chunk for none, and the plain schedule.
    if (builder_.size(kVpp, 0) == 1) builder_.put_null(kVpp, builder_.find(kVpp)->place);
    const Entry* chunks = builder_.size(kVpp, 0) > 0 ? builder_.find(kVpp) : nullptr;
    const bool overlaps = chunks != nullptr && builder_.text("model.overlap_p2p_comm") != "false";
    builder_.put("model.overlap_p2p_comm", chunks == nullptr ? Place{} : chunks->place, overlaps ? "true" : "false");
    builder_.put("model.batch_p2p_comm", chunks == nullptr ? Place{} : chunks->place, overlaps ? "false" : "true");
    put_default("ddp.align_param_gather", chunks != nullptr ? "true" : "false");
    if (chunks == nullptr) builder_.put("ddp.align_param_gather", {}, "false");
  }

  void pad_vocabulary() {
    const std::int64_t size = builder_.size("model.vocab_size", 0);
    if (size == 0) return;
    const std::int64_t of_rank = size_of(divisor_.text, 128);
    const std::int64_t multiple = of_rank * builder_.size("model.tensor_model_parallel_size", 1);
    builder_.put("model.vocab_size", builder_.find("model.vocab_size")->place,
                 fmt::format("{}", (size + multiple - 1) / multiple * multiple));
  }

  /// What arguments.py asserts and no rule does.
  void check() {
    const auto needs = [&](std::string_view path, std::string_view needed, std::string_view words) {
      if (builder_.is_on(path) && !builder_.is_on(needed))
        problems_.add(builder_.find(path)->place,
                      fmt::format("{}; Megatron-LM's command line refuses it otherwise", words));
    };
    needs("ddp.overlap_param_gather", "ddp.overlap_grad_reduce", "--overlap-param-gather needs --overlap-grad-reduce");
    needs("ddp.overlap_param_gather", "ddp.use_distributed_optimizer",
          "--overlap-param-gather needs --use-distributed-optimizer");
    needs("model.tp_comm_overlap", "model.sequence_parallel", "--tp-comm-overlap needs --sequence-parallel");
  }

  Builder builder_;
  Problems& problems_;
  Word layers_of_chunk_, divisor_;
  bool has_groups_ = false;
};

std::string listing(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMost)));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

}  // namespace

bool are_megatron_arguments(const std::string& text) {
  for (const Word& word : words_of(text.substr(0, 4096)))
    if (!word.is_variable()) return word.is_argument();
  return false;
}

Settings read_megatron_arguments(const std::string& text, Document& document, Problems& problems) {
  constexpr std::int64_t kUsualVocabulary = 128'256;
  ArgumentReader reader(document, problems);
  reader.read(words_of(text));
  Settings settings = read_settings(*document.root, problems);
  settings.is_dump = true;
  settings.without_overlap_rules = "Megatron-LM's command line has no CommOverlapConfig";
  if (!reader.has_vocabulary()) {
    const std::size_t row = row_index("model.vocab_size");
    settings.put(row, {Setting::State::given, kUsualVocabulary, {}, rows()[row].path});
    settings.notices.emplace_back(
        Place{}, fmt::format("--vocab-size is left to the tokenizer: {} is taken; write it", kUsualVocabulary));
  }
  if (!settings.given("world_size"))
    settings.notices.emplace_back(Place{},
                                  "arguments do not say how many GPUs there are: data_parallel_size is taken as 1; add "
                                  "--world-size");
  if (!reader.ignored.empty())
    settings.notices.emplace_back(
        Place{}, fmt::format("{} arguments that have nothing to do with overlap are ignored: {}", reader.ignored.size(),
                             listing(reader.ignored)));
  return settings;
}

}  // namespace underlap::plan
