// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's command line. Each argument is a setting with its own name, some switches turn a setting off, and
// omitted arguments have other defaults than in Megatron-Bridge. The list becomes a document with the sections of a
// configuration and the places of its words, and is read as one.
#include "impl/plan/schema/foreign_configs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <stdexcept>

#include "impl/plan/schema/knobs_text.hpp"
#include "impl/plan/schema/paths.hpp"
#include "platform/suggestion.hpp"
#include "platform/text/list.hpp"

namespace underlap::plan {
namespace {

constexpr std::string_view kCheckForNan = "ddp.check_for_nan_in_grad";

/// An argument that is a setting.
struct Argument {
  std::string_view name, path;
  std::string_view sets;  ///< the value that a switch sets; empty: the argument takes a value
  bool takes_list = false;
};

/// knobs/megatron_arguments.yaml, which is built into the program.
class ArgumentTable {
 public:
  static const ArgumentTable& instance() {
    static const ArgumentTable table;
    return table;
  }

  std::vector<Argument> arguments;
  std::vector<std::pair<std::string_view, std::string_view>> defaults;  ///< paths, and values of arguments.py
  std::vector<std::string_view> not_slips;

 private:
  ArgumentTable() {
    Problems problems("knobs/megatron_arguments.yaml", {});
    document_ = read_document(std::string(megatron_arguments_knobs_text()), problems);
    for (const Message& problem : problems.messages()) throw std::logic_error(problem.where + ": " + problem.message);
    for (const Entry& entry : part("arguments").entries) arguments.push_back(argument_of(entry));
    for (const Entry& entry : part("defaults").entries) defaults.emplace_back(entry.key, entry.value->text);
    for (const Node* name : part("not_slips").items) not_slips.emplace_back(name->text);
  }

  const Node& part(std::string_view key) const { return *find_entry(*document_.root, key)->value; }

  /// adam-beta1: optimizer.adam_beta1; bf16: mixed_precision.bf16 = true; cp-comm-type: model.cp_comm_type [list]
  static Argument argument_of(const Entry& entry) {
    const std::string_view text = entry.value->text;
    const std::size_t equals = text.find(" = "), list = text.find(" [list]");
    return {.name = entry.key,
            .path = text.substr(0, std::min(equals, list)),
            .sets = equals == text.npos ? std::string_view() : text.substr(equals + 3),
            .takes_list = list != text.npos};
  }

  Document document_;  // the views above refer to its texts
};

/// A word of the list, and its place.
struct Word {
  std::string text;
  Place place;
  bool is_argument() const {
    return text.size() > 2 && text.starts_with("--") && std::isalpha(static_cast<unsigned char>(text[2])) != 0;
  }
  /// NAME=value before the command.
  bool is_variable() const {
    return text.find('=') != text.npos && std::isupper(static_cast<unsigned char>(text[0])) != 0;
  }
};

/// Words between blanks, without shell syntax: comments, line continuations, quotes and the brackets of an array.
/// `ARGS=(--num-layers 32 --bf16 \  # a comment` gives --num-layers, 32, --bf16. Fails for a quoted
/// value with blanks: it becomes several words.
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

/// A valid size as a number. Any other text gives `otherwise` here, and an error when the document is read.
std::int64_t size_of(const std::string& digits, std::int64_t otherwise) {
  constexpr std::size_t kMostDigits = 9;
  const bool is_number = !digits.empty() && digits.size() <= kMostDigits &&
                         std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  const std::int64_t size = is_number ? std::stoll(digits) : 0;
  return size > 0 ? size : otherwise;
}

/// Builds the document of a configuration from paths and values.
class ArgumentDocument {
 public:
  explicit ArgumentDocument(Document& document) : document_(document), root_(document.add(Node::Kind::mapping, {})) {
    document_.root = &root_;
  }

  /// The last value of a path wins, as in argparse.
  void put(std::string_view path, Place place, const Node& value) {
    const std::size_t dot = path.find('.');
    if (dot == path.npos) return put_entry(root_, path, place, &value);
    const std::string section(path.substr(0, dot));
    auto& node = sections_[section];
    if (node == nullptr) {
      node = &document_.add(Node::Kind::mapping, place);
      root_.entries.push_back({section, place, node});
    }
    put_entry(*node, path.substr(dot + 1), place, &value);
  }
  void put(std::string_view path, Place place, std::string text) {
    put(path, place, document_.add(Node::Kind::scalar, place, std::move(text)));
  }
  void put_null(std::string_view path, Place place) { put(path, place, document_.add(Node::Kind::null, place)); }
  void put(std::string_view path, Place place, std::span<const Word> list) {
    Node& node = document_.add(Node::Kind::sequence, place);
    for (const Word& word : list) node.items.push_back(&document_.add(Node::Kind::scalar, word.place, word.text));
    put(path, place, node);
  }

  /// The entry of a path; nullptr if there is none.
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
  static void put_entry(Node& mapping, std::string_view key, Place place, const Node* value) {
    const auto old = std::ranges::find(mapping.entries, key, &Entry::key);
    if (old == mapping.entries.end())
      mapping.entries.push_back({std::string(key), place, value});
    else
      *old = {std::string(key), place, value};
  }

  Document& document_;
  Node& root_;
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
    check_positions();
    check();
  }

  const ArgumentDocument& built() const { return builder_; }
  std::vector<std::string> ignored;
  std::vector<std::pair<Place, std::string>> notices;
  bool has_vocabulary() const { return builder_.find("model.vocab_size") != nullptr; }

 private:
  /// --num-layers 32, --num-layers=32, --num_layers 32, --bf16, --cp-comm-type p2p a2a
  void read_argument(const Word& word, std::span<const Word> values) {
    const std::size_t equals = word.text.find('=');
    std::string name = word.text.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '_', '-');
    names_.insert(name);
    std::vector<Word> all(values.begin(), values.end());
    if (equals != std::string::npos) all.insert(all.begin(), Word{word.text.substr(equals + 1), word.place});
    for (Word& value : all) value.text = expanded(value.text);
    if (name == "num-layers-per-virtual-pipeline-stage" && !all.empty())
      layers_of_chunk_ = all.front();
    else if (name == "group-query-attention")
      has_groups_ = true;
    else if (name == "make-vocab-size-divisible-by" && !all.empty())
      divisor_ = all.front();
    else if (const auto known = std::ranges::find(table_.arguments, name, &Argument::name);
             known != table_.arguments.end())
      put(*known, word, all);
    else if (name == "ckpt-format" && !all.empty())
      checkpoint_format_ = all.front();
    else if (name == "nproc-per-node" && !all.empty())
      ranks_of_node_ = all.front();
    else if (name == "nnodes" && !all.empty())
      nodes_ = all.front();
    else if (name == "max-position-embeddings" && !all.empty())
      positions_ = all.front();
    else if (name == "tp-comm-overlap-cfg")
      notices.emplace_back(word.place,
                           "the file of --tp-comm-overlap-cfg is not read: Transformer Engine's default settings are "
                           "planned for each GEMM; write model.tp_comm_overlap_cfg into a configuration");
    else if (const std::string_view suggestion = slip_of(name); !suggestion.empty())
      notices.emplace_back(word.place,
                           fmt::format("unknown argument --{} is ignored; did you mean --{}?", name, suggestion));
    else
      ignored.push_back("--" + name);
  }

  /// A known argument that differs by a letter or two; empty if there is none.
  std::string_view slip_of(std::string_view name) const {
    if (std::ranges::find(table_.not_slips, name) != table_.not_slips.end()) return {};
    std::vector<std::string_view> names;
    for (const Argument& argument : table_.arguments)
      if (std::max(name.size(), argument.name.size()) <= std::min(name.size(), argument.name.size()) + 2)
        names.push_back(argument.name);
    const auto near = suggestions(name, names);
    return near.empty() ? std::string_view() : near.front();
  }

  /// The plan's table of learned positions has the length of the sequences.
  void check_positions() {
    const std::string type = builder_.text("model.position_embedding_type");
    const std::string length = builder_.text("model.seq_length");
    if (positions_.text.empty() || positions_.text == length || (!type.empty() && type != "learned_absolute")) return;
    notices.emplace_back(
        positions_.place,
        fmt::format("the table of learned positions is planned with the {} entries of --seq-length, but has {}", length,
                    positions_.text));
  }

  void put(const Argument& argument, const Word& word, const std::vector<Word>& values) {
    has_world_ = has_world_ || argument.path == "world_size";
    if (!argument.sets.empty())
      builder_.put(argument.path, word.place, std::string(argument.sets));
    else if (values.empty())
      problems_.add(word.place, fmt::format("--{} has no value; write one after it", argument.name));
    else if (argument.takes_list && values.size() > 1)
      builder_.put(argument.path, word.place, std::span<const Word>(values));
    else
      builder_.put(argument.path, word.place, values.front().text);
  }

  void read_variable(const Word& word) {
    const std::size_t equals = word.text.find('=');
    const std::string path = "env_vars." + word.text.substr(0, equals);
    variables_[word.text.substr(0, equals)] = word.text.substr(equals + 1);
    if (find_row(path)) builder_.put(path, word.place, word.text.substr(equals + 1));
  }

  /// The value of a script's $NAME or ${NAME}, if it was set above; otherwise the text as it is.
  std::string expanded(const std::string& text) const {
    if (!text.starts_with('$')) return text;
    std::string name = text.substr(1);
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    const auto found = variables_.find(name);
    return found == variables_.end() ? text : found->second;
  }

  void put_default(std::string_view path, std::string value, Place place = {}) {
    if (builder_.find(path) == nullptr) builder_.put(path, place, std::move(value));
  }

  void fill_defaults() {
    // Dynamic loss scaling relies on NaNs.
    if (names_.contains("fp16") && !names_.contains("loss-scale")) builder_.put(kCheckForNan, {}, "false");
    if (names_.contains("grad-reduce-in-bf16")) builder_.put("mixed_precision.grad_reduce_in_fp32", {}, "false");
    for (const auto& [path, value] : table_.defaults) put_default(path, std::string(value));
    fill_pipeline();
    if (const std::string heads = builder_.text("model.num_attention_heads"); !has_groups_ && !heads.empty())
      builder_.put("model.num_query_groups", {}, heads);
    const std::int64_t hidden = builder_.size("model.hidden_size", 0);
    if (hidden > 0 && builder_.text("model.activation") == "swiglu")
      put_default("model.ffn_hidden_size", fmt::format("{}", hidden * 8 / 3 / 64 * 64));
    if (builder_.find("mixed_precision.fp8") != nullptr) put_default("mixed_precision.fp8_recipe", "delayed");
    const bool is_bf16 = builder_.is_on("mixed_precision.bf16");
    put_default("mixed_precision.bf16", "false");
    put_default("mixed_precision.grad_reduce_in_fp32", is_bf16 ? "true" : "false");
    pad_vocabulary();
    const std::int64_t ranks = size_of(ranks_of_node_.text, 0) * size_of(nodes_.text, 1);
    if (ranks > 0 && !has_world_) builder_.put("world_size", ranks_of_node_.place, fmt::format("{}", ranks));
  }

  /// Virtual stages: their transfers overlap and their gathers are aligned by default.
  void fill_pipeline() {
    constexpr std::string_view kVpp = "model.virtual_pipeline_model_parallel_size";
    const std::int64_t stages = builder_.size("model.pipeline_model_parallel_size", 1);
    const std::int64_t layers = builder_.size("model.num_layers", 0);
    if (!layers_of_chunk_.text.empty()) {
      const std::int64_t of_chunk = size_of(layers_of_chunk_.text, 0);
      if (of_chunk == 0 || layers % (stages * of_chunk) != 0)
        problems_.add(layers_of_chunk_.place,
                      fmt::format("--num-layers-per-virtual-pipeline-stage is {}, but {} layers on {} stages are not a "
                                  "multiple of it; change one of them",
                                  layers_of_chunk_.text, layers, stages));
      else
        builder_.put(kVpp, layers_of_chunk_.place, fmt::format("{}", layers / stages / of_chunk));
    }
    // On the command line one chunk means none, and the plain schedule.
    if (builder_.size(kVpp, 0) == 1) builder_.put_null(kVpp, builder_.find(kVpp)->place);
    // Copy the place, because each put() may move the entries.
    const bool has_chunks = builder_.size(kVpp, 0) > 0;
    const Place place = has_chunks ? builder_.find(kVpp)->place : Place{};
    const bool overlaps = has_chunks && builder_.text("model.overlap_p2p_comm") != "false";
    builder_.put("model.overlap_p2p_comm", place, overlaps ? "true" : "false");
    builder_.put("model.batch_p2p_comm", place, overlaps ? "false" : "true");
    put_default("ddp.align_param_gather", has_chunks ? "true" : "false");
    if (!has_chunks) builder_.put("ddp.align_param_gather", {}, "false");
  }

  void pad_vocabulary() {
    const std::int64_t size = builder_.size("model.vocab_size", 0);
    if (size == 0) return;
    const std::int64_t of_rank = size_of(divisor_.text, 128);
    const std::int64_t multiple = of_rank * builder_.size("model.tensor_model_parallel_size", 1);
    builder_.put("model.vocab_size", builder_.find("model.vocab_size")->place,
                 fmt::format("{}", (size + multiple - 1) / multiple * multiple));
  }

  /// Checks of arguments.py that no rule makes.
  void check() {
    const auto needs = [&](std::string_view path, std::string_view needed, std::string_view words) {
      if (builder_.is_on(path) && !builder_.is_on(needed))
        problems_.add(builder_.find(path)->place,
                      fmt::format("{}; Megatron-LM's command line rejects it otherwise", words));
    };
    needs("ddp.overlap_param_gather", "ddp.overlap_grad_reduce", "--overlap-param-gather needs --overlap-grad-reduce");
    needs("ddp.overlap_param_gather", "ddp.use_distributed_optimizer",
          "--overlap-param-gather needs --use-distributed-optimizer");
    needs("model.tp_comm_overlap", "model.sequence_parallel", "--tp-comm-overlap needs --sequence-parallel");
    check_step_gather();
    const auto refuse = [&](const char* path, std::string_view words) {
      problems_.add(builder_.find(path)->place,
                    fmt::format("{}; Megatron-LM's command line rejects it otherwise", words));
    };
    if (builder_.is_on("model.tp_comm_overlap") && builder_.size(kTp, 1) == 1)
      refuse("model.tp_comm_overlap",
             "--tp-comm-overlap needs --tensor-model-parallel-size above 1, without which --sequence-parallel is off");
    if (names_.contains("swiglu") && names_.contains("squared-relu"))
      refuse("model.activation", "--swiglu and --squared-relu are mutually exclusive; leave one of them out");
    else if (names_.contains("squared-relu") && builder_.is_on("model.add_bias_linear") &&
             !names_.contains("no-bias-gelu-fusion"))
      refuse("model.activation", "--squared-relu needs --disable-bias-linear or --no-bias-gelu-fusion");
    if (builder_.text("model.cuda_graph_impl") == "full_iteration" && builder_.is_on(kCheckForNan))
      refuse("model.cuda_graph_impl", "--cuda-graph-impl full_iteration needs --no-check-for-nan-in-loss-and-grad");
  }

  void check_step_gather() {
    constexpr std::string_view kStep = "optimizer.overlap_param_gather_with_optimizer_step";
    if (!builder_.is_on(kStep)) return;
    const auto refuse_without = [&](bool is_there, std::string_view what) {
      if (!is_there)
        problems_.add(
            builder_.find(kStep)->place,
            fmt::format(
                "--overlap-param-gather-with-optimizer-step needs {}; Megatron-LM's command line rejects it otherwise",
                what));
    };
    refuse_without(builder_.is_on("ddp.use_distributed_optimizer"), "--use-distributed-optimizer");
    refuse_without(builder_.is_on("ddp.overlap_param_gather"), "--overlap-param-gather");
    refuse_without(builder_.size("model.virtual_pipeline_model_parallel_size", 0) > 0, "virtual pipeline stages");
    refuse_without(checkpoint_format_.text == "torch", "--ckpt-format torch");
  }

  const ArgumentTable& table_ = ArgumentTable::instance();
  ArgumentDocument builder_;
  Problems& problems_;
  Word layers_of_chunk_, divisor_, positions_, checkpoint_format_;
  std::set<std::string, std::less<>> names_;      ///< of all arguments
  Word ranks_of_node_, nodes_;                    ///< of torchrun, whose command line contains the arguments
  std::map<std::string, std::string> variables_;  ///< shell variables that a script sets
  bool has_groups_ = false, has_world_ = false;
};

}  // namespace

bool are_megatron_arguments(const std::string& text) {
  if (text.starts_with("#!")) return text.find("--num-layers") != text.npos;
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
        Place{},
        fmt::format("--vocab-size is left to the tokenizer: using {}; set it to change this", kUsualVocabulary));
  }
  if (!settings.given("world_size"))
    settings.notices.emplace_back(
        Place{},
        "the arguments do not contain the number of GPUs: data_parallel_size is assumed to be 1; add --world-size");
  settings.notices.insert(settings.notices.end(), reader.notices.begin(), reader.notices.end());
  if (!reader.ignored.empty())
    settings.notices.emplace_back(
        Place{},
        fmt::format("{} {} ignored as irrelevant to the plan: {}", reader.ignored.size(),
                    reader.ignored.size() == 1 ? "argument is" : "arguments are", short_list(reader.ignored, 6)));
  return settings;
}

}  // namespace underlap::plan
