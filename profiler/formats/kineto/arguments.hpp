// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/formats/kineto/events.hpp"
#include "profiler/formats/kineto/foreign_arguments.hpp"
#include "profiler/formats/kineto/strings.hpp"

namespace underlap::formats {

/// The operation of PyTorch that describes the collective that it encloses.
inline constexpr std::string_view kRecordParamComms = "record_param_comms";
/// Prefix of the ranges in which PyTorch's process group launches a collective: "nccl:all_reduce". In traces of PyTorch
/// 2.0 and earlier only the shapes of these ranges show how much is moved.
inline constexpr std::string_view kProcessGroupRange = "nccl:";
/// Prefix of the spans in which gloo runs a collective on a thread of the host: "gloo:all_reduce".
inline constexpr std::string_view kGlooRange = "gloo:";

/// What a metadata event names.
enum class KinetoLabel : std::uint8_t { process_name, process_labels, thread_name };
std::optional<KinetoLabel> kineto_label_from(std::string_view event_name);

/// Whether the key that begins at `raw`, after its opening quote, is `name`.
inline bool is_key(const char* raw, std::string_view name) {
  return name.compare(0, name.size(), raw, name.size()) == 0 && raw[name.size()] == '"';
}

/// A value as it is written, without trailing space.
inline std::string_view token_of(simdjson::ondemand::value value) {
  std::string_view token = value.raw_json_token();
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  return token;
}

inline std::string_view unquoted(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"' ? token.substr(1, token.size() - 2) : token;
}

inline std::string_view token_text(simdjson::ondemand::value value) { return unquoted(token_of(value)); }

/// The arguments of one event.
class KinetoArguments {
 public:
  /// `foreign` takes the arguments that it knows; nullptr: they are those of PyTorch's profiler.
  explicit KinetoArguments(KinetoNames& names, KinetoForeignArguments* foreign = nullptr)
      : names_(names), foreign_(foreign) {}

  void clear();
  /// Reads an object; anything else holds no arguments. `with_values`: its numbers are those of a counter.
  /// Throws simdjson_error for what is no JSON.
  void read(simdjson::ondemand::value, bool with_values);

  const KinetoWork& work() const { return work_; }
  std::int64_t correlation() const { return correlation_; }  ///< -1: unknown
  bool has_collective() const { return collective_.name != kNoName; }
  const KinetoCollective& collective() const { return collective_; }
  /// Takes the collective from the name of a range of the process group, "nccl:send 0->1" or "gloo:all_reduce", unless
  /// the arguments have it.
  void name_collective(std::string_view range);
  std::string_view name() const { return name_; }  ///< of a metadata event, as it is written
  /// The numbers among the arguments, of a counter.
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  void take(simdjson::ondemand::field&);
  void take_of_collective(const char* key, simdjson::ondemand::value);
  void take_shapes(simdjson::ondemand::value);
  void take_types(simdjson::ondemand::value);
  void take_number(simdjson::ondemand::field&);

  KinetoNames& names_;
  KinetoForeignArguments* foreign_;
  KinetoWork work_;
  KinetoCollective collective_;
  std::int64_t correlation_ = -1;
  std::string_view name_;
  std::vector<std::pair<std::string, double>> values_;
  bool touched_collective_ = false;
};

}  // namespace underlap::formats
