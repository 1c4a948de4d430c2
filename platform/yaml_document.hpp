// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/problems.hpp"

namespace underlap::yaml {

struct Node;

/// One `key: value` of a mapping.
struct Entry {
  std::string key;
  Place place;  ///< of the key
  const Node* value = nullptr;
};

/// A YAML value with the place it was written at. Aliases are already followed, `<<` merges already made.
struct Node {
  enum class Kind { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  std::string text = {};   ///< of a scalar
  bool is_quoted = false;  ///< the scalar was in quotes: text, whatever it looks like
  Place place;
  std::vector<const Node*> items = {};  ///< of a sequence
  std::vector<Entry> entries = {};      ///< of a mapping, keys unique
};

/// The entry of `mapping` with that key; null where there is none, or where it is no mapping.
const Entry* find_entry(const Node& mapping, std::string_view key);

/// Owns the nodes of one YAML document; they may have several parents, because aliases share them.
struct Document {
  std::deque<Node> nodes;
  const Node* root = nullptr;  ///< null where nothing could be read

  Node& add(Node::Kind kind, Place place, std::string text = {}) {
    return nodes.emplace_back(Node{.kind = kind, .text = std::move(text), .place = place});
  }
};

/// Reads one YAML document. Syntax errors, duplicate keys, aliases to themselves, nesting deeper than 32 levels,
/// merges of more than 100,000 keys and a second document are added to `problems`; places carry `override_index`.
Document read_document(const std::string& yaml, Problems& problems, int override_index = -1);

/// What a node is, in words: "a list", "text \"abc\"", "nothing".
std::string describe(const Node& node);

}  // namespace underlap::yaml
