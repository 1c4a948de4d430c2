// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "impl/cp/communicators.hpp"
#include "impl/device/technique.hpp"
#include "impl/plan/config/context_config.hpp"

namespace underlap::cp {

/// One layer's attention on one rank of a context-parallel group of c.
///
/// The group is balanced by a zigzag: of the 2c chunks that a sequence is cut in, rank r holds r and 2c-1-r, so that
/// all ranks have the same number of causal query-key pairs.
struct AttentionShape {
  std::int64_t sequences = 0;  ///< of the microbatch
  std::int64_t seq_here = 0;   ///< rows of each sequence here, S/c: chunk r, then chunk 2c-1-r; even where c > 1
  std::int64_t heads = 0;      ///< A, of queries
  std::int64_t groups = 0;     ///< G, of keys and values
  std::int64_t head_size = 0;  ///< D

  std::int64_t tokens() const { return sequences * seq_here; }  ///< T
  std::int64_t query_features() const { return heads * head_size; }
  std::int64_t kv_features() const { return groups * head_size; }
};

/// Queries, keys and values of this rank's tokens, or their gradients; all bf16. They may be columns of one tensor.
struct Qkv {
  View q;  ///< [T, A D]
  View k;  ///< [T, G D]
  View v;  ///< [T, G D]
};

/// Causal attention over sequences that a context-parallel group shares; one object serves all layers, with buffers
/// that they share. Everything runs between what the compute stream holds and what it is given next.
class Attention {
 public:
  virtual ~Attention() = default;

  /// What forward keeps for backward, of one layer and one microbatch in flight.
  struct Saved {
    virtual ~Saved() = default;
  };
  /// Before Device::begin(). Each object takes what it allocated itself, and nothing else.
  virtual std::unique_ptr<Saved> allocate_saved() = 0;

  /// out [T, A D] bf16 = attention of this rank's queries over all keys that they see. `tag` gives layer, microbatch,
  /// direction and step.
  virtual void forward(const Tag& tag, const Qkv& in, const View& out, Saved& saved) = 0;

  /// d_in from d_out [T, A D] bf16. `in` and `out` are as in forward.
  virtual void backward(const Tag& tag, const Qkv& in, const View& out, const View& d_out, const Qkv& d_in,
                        Saved& saved) = 0;
};

/// What decides which technique is in effect.
struct Choice {
  bool alone = true;  ///< a group of one rank
  plan::CpCommType comm_type = plan::CpCommType::p2p;
  bool overlap = true;  ///< extensions.cp_overlap

  friend bool operator==(const Choice&, const Choice&) = default;
};
/// A group of one rank exchanges nothing, regardless of the other settings.
inline Choice attention_key(const Choice& choice) { return choice.alone ? Choice{} : choice; }

/// What every technique works with. `communicators` outlives it; `config` is read while it is made.
struct Context {
  Communicators* communicators = nullptr;
  const plan::Config* config = nullptr;
  AttentionShape shape;
  plan::CpCommType comm_type = plan::CpCommType::p2p;
};

using Attentions = Techniques<Attention, Context, attention_key>;

/// What is in effect for layers of `comm_type`: a group of one rank needs no exchange, and a2a+p2p with groups of one
/// rank on either side is p2p or a2a.
Choice choice_of(const plan::Config& config, std::int32_t group_size, plan::CpCommType comm_type);

/// The technique in effect.
/// Throws std::invalid_argument if the shape cannot be split: an odd seq_here, or heads that do not divide.
std::unique_ptr<Attention> make_attention(const Context& context);

/// What the layers of a model attend with: one object for each exchange that some of them use.
class LayerAttentions {
 public:
  /// Of the layers of `config`. `communicators` outlives this. Throws as make_attention.
  LayerAttentions(Communicators& communicators, const plan::Config& config, const AttentionShape& shape);

  Attention& of_layer(std::int32_t layer) const { return *by_type_.at(types_.of_layer(layer)); }

 private:
  plan::ContextConfig types_;
  std::map<plan::CpCommType, std::unique_ptr<Attention>> by_type_;
};

}  // namespace underlap::cp
