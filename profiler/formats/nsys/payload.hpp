// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/formats/nsys/import.hpp"

namespace underlap::formats::nsys {

/// NCCL's description of one of its calls; -1 (communicator: 0) for missing values.
struct NcclPayload {
  std::uint64_t communicator = 0;
  std::int64_t bytes = -1;      ///< of the count that was passed to the call
  std::int64_t num_ranks = -1;  ///< of the communicator
  std::int64_t rank = -1;       ///< in the communicator
  std::int64_t cuda_device = -1;
  std::int64_t peer = -1;  ///< its rank in the communicator
};

/// Decodes NVTX payloads by the schemas that the file holds (NVTX_PAYLOAD_SCHEMA_ENTRIES).
class Payloads {
 public:
  explicit Payloads(Import&);

  /// NVTX_EVENTS.binaryData: domain, schema, size and total size as 64-bit integers, then the payload. nullopt for data
  /// that is shorter than its schema, has no schema, or names no communicator.
  std::optional<NcclPayload> from_binary(std::span<const std::byte>) const;
  /// NVTX_EVENTS.jsonText: an object with the schema's names.
  static std::optional<NcclPayload> from_json(std::string_view);

 private:
  struct Field {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::int64_t NcclPayload::*into = nullptr;  ///< nullptr: the communicator
  };
  using SchemaId = std::pair<std::int64_t, std::int64_t>;  ///< domain, schema

  std::map<SchemaId, std::vector<Field>> schemas_;
};

}  // namespace underlap::formats::nsys
