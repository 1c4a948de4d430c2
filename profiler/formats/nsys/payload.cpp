// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/nsys/nccl.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>

namespace underlap::formats::nsys {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kLongestJson = 1 << 16;
constexpr std::string_view kCommunicator = "NCCL communicator ID";

struct Word {
  std::string_view name;
  std::int64_t NcclPayload::*into;
};
// As nvtx_payload_schemas.h of NCCL 2.20 and later spells them.
constexpr std::array kWords{Word{"Message size [bytes]", &NcclPayload::bytes},
                            Word{"No. of ranks", &NcclPayload::num_ranks}, Word{"Rank", &NcclPayload::rank},
                            Word{"CUDA device", &NcclPayload::cuda_device}, Word{"Peer rank", &NcclPayload::peer}};

// Bytes of NVTX_PAYLOAD_ENTRY_TYPE_*, by its number; 0 where it is no integer. What NCCL registers itself, such as the
// reduction operation, is an enum of four.
std::size_t bytes_of_type(std::int64_t type) {
  constexpr std::array<std::uint8_t, 24> kBytes{0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8, 8};
  if (type >= 0 && type < static_cast<std::int64_t>(kBytes.size())) return kBytes[static_cast<std::size_t>(type)];
  return 4;
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

// A number of 4 bytes is an int, of 8 a size.
std::int64_t as_number(std::span<const std::byte> bytes) {
  const std::uint64_t value = little_endian(bytes);
  if (bytes.size() == 4) return static_cast<std::int32_t>(value);
  return value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
             ? -1
             : static_cast<std::int64_t>(value);
}

std::optional<std::uint64_t> number_of(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return std::nullopt;
  std::string_view text = value.get_ref<const std::string&>();
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return code == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

void take(const nlohmann::json& object, int levels, NcclPayload& payload) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object() && levels > 1) take(value, levels - 1, payload);
    const auto number = number_of(value);
    if (!number) continue;
    if (name == kCommunicator) payload.communicator = *number;
    for (const Word& word : kWords)
      if (name == word.name && *number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        payload.*word.into = static_cast<std::int64_t>(*number);
  }
}

}  // namespace

// 1|16777218|1|5|No. of ranks|8
Payloads::Payloads(Import& import) {
  const std::string table = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
  Rows rows(import.database(), table, {"domainId", "schemaId", "idx", "type", "name", "offset"});
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;  // each process registers them again
  std::map<SchemaId, std::size_t> ends;
  while (rows.next()) {
    const SchemaId id(rows.integer_or(0, 0), rows.integer_or(1, 0));
    if (!seen.emplace(id.first, id.second, rows.integer_or(2, 0)).second) continue;
    const std::size_t bytes = bytes_of_type(rows.integer_or(3, 0));
    if (bytes == 0) continue;
    std::size_t& end = ends[id];
    // Without an offset, a field follows the previous one at its alignment.
    const auto offset = static_cast<std::size_t>(std::clamp<std::int64_t>(
        rows.integer_or(5, static_cast<std::int64_t>((end + bytes - 1) / bytes * bytes)), 0, 1 << 20));
    end = offset + bytes;
    const std::string_view name = rows.text(4);
    if (name == kCommunicator) schemas_[id].push_back({offset, bytes, nullptr});
    for (const Word& word : kWords)
      if (name == word.name) schemas_[id].push_back({offset, bytes, word.into});
  }
  import.end_table(table, rows);
}

// 1, 16777218, 24, 56 in 64 bits each; then by that schema communicator 0xABC in 64, 2 ranks, rank 1, device 1 in 32
std::optional<NcclPayload> Payloads::from_binary(std::span<const std::byte> bytes) const {
  if (bytes.size() < kHeaderBytes) return std::nullopt;
  const auto domain = static_cast<std::int64_t>(little_endian(bytes.first(4)));
  const auto schema = static_cast<std::int64_t>(little_endian(bytes.subspan(8, 8)));
  const auto found = schemas_.find({domain, schema});
  if (found == schemas_.end()) return std::nullopt;
  const auto body = bytes.subspan(kHeaderBytes);
  NcclPayload payload;
  for (const Field& field : found->second) {
    if (field.offset + field.bytes > body.size()) return std::nullopt;
    const auto value = body.subspan(field.offset, field.bytes);
    if (field.into == nullptr)
      payload.communicator = little_endian(value);
    else
      payload.*field.into = as_number(value);
  }
  return payload.communicator == 0 ? std::nullopt : std::optional(payload);
}

// {"NCCL communicator ID": 2748, "Message size [bytes]": "4096", "Root": 0}
std::optional<NcclPayload> Payloads::from_json(std::string_view text) {
  if (text.size() > kLongestJson) return std::nullopt;
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  NcclPayload payload;
  take(object, /*levels=*/3, payload);
  return payload.communicator == 0 ? std::nullopt : std::optional(payload);
}

}  // namespace underlap::formats::nsys
