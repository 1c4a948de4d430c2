// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/kineto/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "profiler/formats/kineto/collective_arguments.hpp"
#include "profiler/formats/kineto/decimal_time.hpp"

namespace underlap::formats {
namespace {

namespace ondemand = simdjson::ondemand;

template <class Number = std::int64_t>
Number integer(ondemand::value value, std::type_identity_t<Number> otherwise) {
  return integer_within(token_text(value), otherwise);
}

std::array<std::uint32_t, 3> three(ondemand::value value) {
  std::array<std::uint32_t, 3> sizes{};
  ondemand::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return sizes;
  std::size_t i = 0;
  for (ondemand::value size : list)
    if (i < sizes.size()) sizes[i++] = integer<std::uint32_t>(size, 0);
  return sizes;
}

}  // namespace

std::optional<KinetoLabel> kineto_label_from(std::string_view event_name) {
  if (event_name == "process_name") return KinetoLabel::process_name;
  if (event_name == "process_labels") return KinetoLabel::process_labels;
  if (event_name == "thread_name") return KinetoLabel::thread_name;
  return std::nullopt;
}

void KinetoArguments::clear() {
  if (foreign_ != nullptr) foreign_->clear();
  work_ = {};
  correlation_ = -1;
  name_ = {};
  values_.clear();
  if (touched_collective_) collective_ = {};
  touched_collective_ = false;
}

void KinetoArguments::read(ondemand::value value, bool with_values) {
  ondemand::object arguments;
  if (value.get_object().get(arguments) != simdjson::SUCCESS) return;
  for (ondemand::field field : arguments) {
    if (with_values) take_number(field);
    take(field);
  }
}

// {"External id": 12945, "device": 0, "stream": 40, "correlation": 60047, "grid": [8, 1, 1], "block": [544, 1, 1]}
void KinetoArguments::take(ondemand::field& field) {
  const char* const key = field.key().raw();
  ondemand::value value = field.value();
  if (foreign_ != nullptr && foreign_->take(key, value)) return;
  switch (key[0]) {
    case 'E':
    case 'e':
      if (is_key(key + 1, "xternal id")) work_.external_id = integer(value, -1);
      break;
    case 'c':
      if (is_key(key, "correlation")) correlation_ = integer(value, -1);
      break;
    case 's':
      if (is_key(key, "stream")) {
        work_.stream = integer<std::int32_t>(value, -1);
        work_.has_stream = true;
      }
      break;
    case 'w':
      if (is_key(key, "wait_on_stream"))
        work_.awaited_stream = integer<std::int32_t>(value, -1);
      else if (is_key(key, "wait_on_cuda_event_record_corr_id"))
        work_.record_id = integer(value, -1);
      break;
    case 'g':
      if (is_key(key, "grid")) work_.shape.grid = three(value);
      break;
    case 'b':
      if (is_key(key, "block"))
        work_.shape.block = three(value);
      else if (is_key(key, "bytes"))
        work_.shape.bytes = std::max<std::int64_t>(0, integer(value, 0));
      break;
    case 'd':
      if (is_key(key, "device"))
        work_.device = integer<std::int32_t>(value, -1);
      else
        take_of_collective(key, value);
      break;
    case 'n':
    case 'l':
      if (is_key(key, "name") || is_key(key, "labels")) name_ = token_text(value);
      break;
    default: take_of_collective(key, value);
  }
}

void KinetoArguments::take_of_collective(const char* key, ondemand::value value) {
  const bool is_taken = take_collective_argument(
      collective_, [&](std::string_view name) { return is_key(key, name); }, [&] { return token_text(value); },
      [&](std::string_view text) { return names_.id_of(text); });
  if (is_taken)
    touched_collective_ = true;
  else if (is_key(key, "Input Dims"))
    take_shapes(value);
  else if (is_key(key, "Input type"))
    take_types(value);
}

// [[3, 4], [5]]: elements of all tensors.
void KinetoArguments::take_shapes(ondemand::value value) {
  ondemand::array shapes;
  if (value.get_array().get(shapes) != simdjson::SUCCESS) return;
  for (ondemand::value shape : shapes) {
    ondemand::array sizes;
    if (shape.get_array().get(sizes) != simdjson::SUCCESS) return;
    std::int64_t elements = 0;
    for (ondemand::value size : sizes) {
      const std::int64_t one = integer(size, 0);
      if (elements == 0)
        elements = one;
      else if (__builtin_mul_overflow(elements, one, &elements))
        elements = 0;
    }
    std::int64_t sum = 0;
    if (elements > 0 && !__builtin_add_overflow(collective_.in_elements, elements, &sum)) collective_.in_elements = sum;
  }
  touched_collective_ = true;
}

// ["TensorList", "float"] gives "Float": the first type of a tensor, in the word that collectives have for it.
void KinetoArguments::take_types(ondemand::value value) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords{{{"float", "Float"},
                                                                                 {"c10::BFloat16", "BFloat16"},
                                                                                 {"c10::Half", "Half"},
                                                                                 {"double", "Double"},
                                                                                 {"int", "Int"},
                                                                                 {"long int", "Long"},
                                                                                 {"long", "Long"},
                                                                                 {"unsigned char", "Byte"},
                                                                                 {"signed char", "Char"}}};
  ondemand::array types;
  if (value.get_array().get(types) != simdjson::SUCCESS) return;
  for (ondemand::value type : types) {
    const std::string_view text = token_text(type);
    const auto word = std::ranges::find(kWords, text, &std::pair<std::string_view, std::string_view>::first);
    if (word == kWords.end()) continue;
    collective_.dtype = names_.id_of(word->second);
    break;
  }
  touched_collective_ = true;
}

void KinetoArguments::name_collective(std::string_view range) {
  if (has_collective() || (collective_.in_elements == 0 && !range.starts_with(kGlooRange))) return;
  range.remove_prefix(range.find(':') + 1);
  touched_collective_ = true;
  collective_.name = names_.id_of(range.substr(0, range.find(' ')));
}

void KinetoArguments::take_number(ondemand::field& field) {
  const std::string_view token = token_of(field.value());
  double number = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), number);
  if (error != std::errc{} || end != token.data() + token.size() || !std::isfinite(number)) return;
  const char* const key = field.key().raw();
  std::size_t length = 0;
  while (key[length] != '"') ++length;
  values_.emplace_back(std::string(key, length), number);
}

}  // namespace underlap::formats
