// SPDX-License-Identifier: Apache-2.0
#include "platform/yaml_document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

namespace underlap::yaml {
namespace {

constexpr std::size_t kDeepestYaml = 32;
constexpr std::size_t kMostMerged = 100'000;  // keys; far fewer bytes can ask for any number

/// Reading cannot continue; the reason is already among the problems.
struct Stop {};

/// Builds nodes from yaml-cpp's events. yaml-cpp's own tree keeps the last of two equal keys without a word, so it
/// cannot be used here.
class Builder : public YAML::EventHandler {
 public:
  Builder(Document& document, Problems& problems, int override_index)
      : document_(document), problems_(problems), override_index_(override_index) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_.root == nullptr) return;
    problems_.add(place(mark), "a second YAML document starts here; keep one document in the file");
    throw Stop{};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { finish(make(Node::Kind::null, mark), anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node& node = make(Node::Kind::scalar, mark);
    node.text = value;
    node.is_quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    finish(node, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::sequence, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::mapping, mark, anchor);
  }
  void OnMapEnd() override {
    merge(*open_.back().node);
    close();
  }

 private:
  struct Frame {
    Node* node;
    YAML::anchor_t anchor;
    const Node* key = nullptr;  // read, its value still to come
    std::unordered_map<std::string, Place> keys;
  };

  Place place(const YAML::Mark& mark) const {
    return {override_index_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
  }
  Node& make(Node::Kind kind, const YAML::Mark& mark) { return document_.add(kind, place(mark)); }
  void open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor);
  void close() {
    Frame frame = std::move(open_.back());
    open_.pop_back();
    finish(*frame.node, frame.anchor);
  }
  void finish(const Node& node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &node;
    attach(node);
  }
  void attach(const Node& node);
  void add_entry(Frame& frame, const Node& value);
  void merge(Node& mapping);
  void merge_from(Node& mapping, const Node& source);

  Document& document_;
  Problems& problems_;
  int override_index_;
  std::vector<Frame> open_;
  std::map<YAML::anchor_t, const Node*> anchors_;
  std::size_t num_merged_ = 0;
};

void Builder::open(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (open_.size() >= kDeepestYaml) {
    problems_.add(place(mark),
                  fmt::format("nested deeper than {} levels, more than any setting; remove some", kDeepestYaml));
    throw Stop{};
  }
  open_.push_back({&make(kind, mark), anchor, nullptr, {}});
}

void Builder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (const auto found = anchors_.find(anchor); found != anchors_.end()) return attach(*found->second);
  problems_.add(place(mark), "an alias inside the value that it refers to; write the value out");
  attach(make(Node::Kind::null, mark));
}

void Builder::attach(const Node& node) {
  if (open_.empty()) {
    document_.root = &node;
    return;
  }
  Frame& frame = open_.back();
  if (frame.node->kind == Node::Kind::sequence)
    frame.node->items.push_back(&node);
  else if (frame.key == nullptr)
    frame.key = &node;
  else
    add_entry(frame, node);
}

void Builder::add_entry(Frame& frame, const Node& value) {
  const Node& key = *std::exchange(frame.key, nullptr);
  if (key.kind != Node::Kind::scalar) {
    problems_.add(key.place, fmt::format("a key must be a word, not {}; put it in quotes", describe(key)));
    return;
  }
  const auto [first, is_new] = frame.keys.emplace(key.text, key.place);
  if (is_new)
    frame.node->entries.push_back({key.text, key.place, &value});
  else
    problems_.add(key.place, fmt::format("duplicate key {}, first written at {}; keep one of them", in_quotes(key.text),
                                         problems_.text(first->second)));
}

void Builder::merge(Node& mapping) {
  const auto found = std::ranges::find(mapping.entries, "<<", &Entry::key);
  if (found == mapping.entries.end()) return;
  const Node& source = *found->value;
  mapping.entries.erase(found);
  if (source.kind == Node::Kind::sequence)
    for (const Node* item : source.items) merge_from(mapping, *item);
  else
    merge_from(mapping, source);
}

void Builder::merge_from(Node& mapping, const Node& source) {
  if (source.kind != Node::Kind::mapping) {
    problems_.add(source.place,
                  fmt::format("<< merges mappings, not {}; use the anchor of a mapping", describe(source)));
    return;
  }
  num_merged_ += source.entries.size();
  if (num_merged_ > kMostMerged) {
    problems_.add(source.place,
                  fmt::format("<< merges more than {} keys in this file; write the settings out", kMostMerged));
    throw Stop{};
  }
  auto& keys = open_.back().keys;
  for (const Entry& entry : source.entries)
    if (keys.emplace(entry.key, entry.place).second) mapping.entries.push_back(entry);
}

}  // namespace

const Entry* find_entry(const Node& mapping, std::string_view key) {
  const auto found = std::ranges::find(mapping.entries, key, &Entry::key);
  return found == mapping.entries.end() ? nullptr : &*found;
}

Document read_document(const std::string& yaml, Problems& problems, int override_index) {
  Document document;
  Builder builder(document, problems, override_index);
  try {
    std::istringstream in(yaml);
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    document.root = nullptr;
  } catch (const YAML::Exception& error) {
    const Place place{override_index, std::max(error.mark.line, 0) + 1, std::max(error.mark.column, 0) + 1};
    problems.add(place, fmt::format("not YAML: {}; fix the line, or put text with : # [ or {{ in quotes", error.msg));
    document.root = nullptr;
  }
  return document;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null: return "nothing";
    case Node::Kind::sequence: return "a list";
    case Node::Kind::mapping: return "a mapping";
    case Node::Kind::scalar: break;
  }
  return node.is_quoted ? "the text " + in_quotes(node.text) : in_quotes(node.text);
}

}  // namespace underlap::yaml
