// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/mode_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "platform/input/input_file.hpp"
#include "platform/json.hpp"
#include "platform/suggestion.hpp"
#include "platform/yaml_document.hpp"

namespace underlap::attribution {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::string_view kExample = "such as {group: \"dp_*\", mode: dp}";
constexpr std::array<std::string_view, 8> kModes{"dp", "tp", "pp", "cp", "ep", "fsdp", "other", "compute"};
constexpr std::array<std::string_view, 4> kClasses{"communication", "compute", "fused", "copy"};
constexpr std::array<std::string_view, 11> kKeys{"group",   "kernel",  "stream", "ranks",  "mode",    "class",
                                                 "purpose", "library", "why",    "source", "versions"};

constexpr const char* kHelp = R"(A mode map assigns the communication of a trace to modes of parallelism.
Give the file to `underlap analyze --mode-map FILE`. It is YAML:

    rules:
      - {group: "DATA_*", mode: dp, purpose: grad_all_reduce}
      - {kernel: "ncclDevKernel_SendRecv*", stream: 20, mode: pp}
      - {kernel: "my::expert_dispatch", ranks: [0, 1], mode: ep}
      - {kernel: "nvshmem_init_kernel", mode: compute}

The first rule that matches a kernel applies, before anything that the trace
records. All keys of a rule must match:

  mode           dp, tp, pp, cp, ep, fsdp or other; compute: no communication
  group          name or description of the process group
  kernel         kernel name: complete; or without return type, template
                 arguments and parameters; or only its last part. A
                 pattern that starts with :: matches only names
                 without a namespace
  stream, ranks  a number or a list
  purpose        a name for the tables (default: as recorded)

  class          communication, compute, fused (one kernel computes and
                 communicates: counted as compute, never as hidden) or copy;
                 default: compute for mode compute, else communication
  library, why, source, versions
                 notes for readers

A rule needs a mode or class, and a group, kernel, stream or ranks. In group and
kernel, * matches any characters and | separates alternatives. A rule with
kernel or stream also turns compute kernels into communication; other rules
apply to known communication only. Traces of Underlap keep their own modes.

The built-in rules for the kernels of NCCL, DeepEP and other libraries have the
same format: `underlap list kernel-names` prints them.
)";

class Reader {
 public:
  explicit Reader(yaml::Problems& problems) : problems_(problems) {}

  ModeMap read(const yaml::Node& root) {
    ModeMap map;
    const yaml::Entry* rules = yaml::find_entry(root, "rules");
    if (rules == nullptr) {
      problems_.add(root.place,
                    fmt::format("a mode map needs rules; write \"rules:\" and a list below it, {}", kExample));
      return map;
    }
    for (const yaml::Entry& entry : root.entries)
      if (entry.key != "rules")
        problems_.add(entry.place,
                      fmt::format("unknown key {}; a mode map only has rules", yaml::in_quotes(entry.key)));
    if (rules->value->kind != yaml::Node::Kind::sequence || rules->value->items.empty())
      problems_.add(rules->value->place, fmt::format("rules is {}, must be a list; write entries {}",
                                                     yaml::describe(*rules->value), kExample));
    for (const yaml::Node* item : rules->value->items) map.rules.push_back(read_rule(*item));
    return map;
  }

 private:
  ModeRule read_rule(const yaml::Node& node) {
    ModeRule rule;
    if (node.kind != yaml::Node::Kind::mapping) {
      problems_.add(node.place, fmt::format("a rule is {}; write a mapping, {}", yaml::describe(node), kExample));
      return rule;
    }
    rule.reason = intern("rule " + problems_.text(node.place));
    bool has_mode = false;
    for (const yaml::Entry& entry : node.entries) {
      has_mode = has_mode || entry.key == "mode" || entry.key == "class";
      read_key(entry, rule);
    }
    if (!has_mode)
      problems_.add(node.place,
                    fmt::format("a rule has no mode or class; set mode to one of: {}", fmt::join(kModes, ", ")));
    if (!rule.group && !rule.kernel && rule.streams.empty() && rule.ranks.empty())
      problems_.add(node.place, "a rule matches everything; add a group, kernel, stream or ranks");
    return rule;
  }

  void read_key(const yaml::Entry& entry, ModeRule& rule) {
    if (entry.key == "group")
      rule.group = text(entry);
    else if (entry.key == "kernel")
      rule.kernel = text(entry);
    else if (entry.key == "stream")
      rule.streams = numbers(entry);
    else if (entry.key == "ranks")
      rule.ranks = numbers(entry);
    else if (entry.key == "purpose")
      rule.purpose = intern(text(entry));
    else if (entry.key == "library")
      rule.library = text(entry);
    else if (entry.key == "why")
      rule.why = text(entry);
    else if (entry.key == "source")
      rule.source = text(entry);
    else if (entry.key == "versions")
      rule.versions = text(entry);
    else if (entry.key == "mode")
      read_mode(entry, rule);
    else if (entry.key == "class")
      read_class(entry, rule);
    else
      problems_.add(entry.place,
                    fmt::format("unknown key {} in a rule{}", yaml::in_quotes(entry.key),
                                did_you_mean(entry.key, std::vector<std::string_view>(kKeys.begin(), kKeys.end()))));
  }

  void read_mode(const yaml::Entry& entry, ModeRule& rule) {
    const std::string mode = text(entry);
    if (mode.empty()) return;
    if (std::ranges::find(kModes, mode) == kModes.end()) {
      problems_.add(entry.value->place,
                    fmt::format("mode is {}; must be one of: {}", yaml::in_quotes(mode), fmt::join(kModes, ", ")));
      return;
    }
    set_mode(rule, mode);
  }

  void read_class(const yaml::Entry& entry, ModeRule& rule) {
    const std::string word = text(entry);
    const auto found = std::ranges::find(kClasses, word);
    if (found != kClasses.end())
      rule.what = static_cast<KernelClass>(found - kClasses.begin());
    else if (!word.empty())
      problems_.add(entry.value->place,
                    fmt::format("class is {}; must be one of: {}", yaml::in_quotes(word), fmt::join(kClasses, ", ")));
  }

  std::string text(const yaml::Entry& entry) {
    if (entry.value->kind == yaml::Node::Kind::scalar && !entry.value->text.empty()) return entry.value->text;
    problems_.add(entry.value->place, fmt::format("{} is {}, must be text", entry.key, yaml::describe(*entry.value)));
    return {};
  }

  std::vector<std::int32_t> numbers(const yaml::Entry& entry) {
    const yaml::Node& node = *entry.value;
    std::vector<std::int32_t> all;
    if (node.kind == yaml::Node::Kind::sequence && !node.items.empty())
      for (const yaml::Node* item : node.items) add_number(entry, *item, all);
    else
      add_number(entry, node, all);
    return all;
  }

  void add_number(const yaml::Entry& entry, const yaml::Node& node, std::vector<std::int32_t>& all) {
    std::int32_t value = 0;
    const char* end = node.text.data() + node.text.size();
    const auto [stop, error] = std::from_chars(node.text.data(), end, value);
    if (node.kind == yaml::Node::Kind::scalar && error == std::errc() && stop == end && value >= 0)
      all.push_back(value);
    else
      problems_.add(node.place, fmt::format("{} is {}, must be a whole number of 0 or more, or a list of them",
                                            entry.key, yaml::describe(node)));
  }

  yaml::Problems& problems_;
};

// JSON strings are YAML strings, too.
std::string in_yaml(std::string_view text) { return json_text(nlohmann::json(std::string(text))); }

std::string in_yaml(const std::vector<std::int32_t>& numbers) {
  return numbers.size() == 1 ? fmt::format("{}", numbers.front()) : fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace

const char* mode_map_help() { return kHelp; }

ModeMap parse_mode_map(const std::string& yaml, const std::string& name) {
  yaml::Problems problems(name, {});
  const yaml::Document document = yaml::read_document(yaml, problems);
  ModeMap map;
  if (document.root != nullptr) map = Reader(problems).read(*document.root);
  if (problems.empty() && map.rules.empty()) problems.add({}, fmt::format("has no rules; write one, {}", kExample));
  problems.throw_any();
  return map;
}

ModeMap read_mode_map(const std::string& file) {
  const std::string yaml = read_input_file(file, {.bytes = kMostBytes + 1});
  if (yaml.size() > kMostBytes)
    throw std::invalid_argument(file + ": larger than 1 MiB; give a mode map, rules in YAML");
  return parse_mode_map(yaml, file);
}

std::string to_yaml(const ModeRule& rule) {
  std::vector<std::string> keys;
  const auto add = [&](const char* key, const std::string& value) {
    keys.push_back(fmt::format("{}: {}", key, value));
  };
  const auto add_text = [&](const char* key, std::string_view text) {
    if (!text.empty()) add(key, in_yaml(text));
  };
  add_text("library", rule.library);
  if (rule.group) add("group", in_yaml(*rule.group));
  if (rule.kernel) add("kernel", in_yaml(*rule.kernel));
  if (!rule.streams.empty()) add("stream", in_yaml(rule.streams));
  if (!rule.ranks.empty()) add("ranks", in_yaml(rule.ranks));
  const bool is_plain_compute = rule.what == KernelClass::compute && rule.mode == Mode::none;
  const bool needs_class = !is_plain_compute && (rule.what != KernelClass::communication || rule.mode == Mode::none);
  if (needs_class) add("class", std::string(kClasses[static_cast<std::size_t>(rule.what)]));
  if (is_plain_compute) add("mode", "compute");
  if (rule.mode != Mode::none) add("mode", std::string(to_string(rule.mode)));
  add_text("purpose", name_of(rule.purpose));
  add_text("why", rule.why);
  add_text("source", rule.source);
  add_text("versions", rule.versions);
  return fmt::format("{{{}}}", fmt::join(keys, ", "));
}

std::string to_yaml(const ModeMap& map) {
  std::string yaml = "# A mode map: `underlap help mode-map` describes the format.\nrules:\n";
  for (const ModeRule& rule : map.rules) yaml += fmt::format("  - {}\n", to_yaml(rule));
  return yaml;
}

std::span<const std::string_view> mode_words() { return kModes; }

void set_mode(ModeRule& rule, std::string_view word) {
  if (word == "compute") rule.what = KernelClass::compute;
  rule.mode = mode_from(word).value_or(Mode::none);
}

}  // namespace underlap::attribution
