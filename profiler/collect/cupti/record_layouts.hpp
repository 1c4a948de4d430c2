// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

/// How long an activity record is, by kind and by the version of CUPTI that wrote it.
///
/// CUPTI writes the newest structure that its own release knows, whatever header a program was compiled with.
/// Structures only ever grow at their end: a field keeps its offset, and only the distance to the next record changes.
namespace underlap::cupti {

/// Kinds whose fields are read. Values are CUpti_ActivityKind's.
enum class RecordKind : std::uint32_t {
  memcpy = 1,
  memset = 2,
  kernel = 3,
  driver = 4,
  runtime = 5,
  concurrent_kernel = 10,
  overhead = 17,
  memcpy_peer = 22,
  cuda_event = 36,
  synchronization = 38,
  external_correlation = 39,
};

/// Whether the table holds the sizes of this version: CUPTI of CUDA 12.4 to 13.5.
bool is_known_version(std::uint32_t cupti_version);

/// Whether the sizes of this version were compared with what the library itself says (cuptiActivityGetNextRecord):
/// CUDA 12.4 to 13.1. Later ones are those of the release's header.
bool is_checked_version(std::uint32_t cupti_version);

/// Bytes of a record of `kind` written by `cupti_version`; nullopt for a kind that the table has no size of.
/// The version must be known.
std::optional<std::size_t> record_size(std::uint32_t kind, std::uint32_t cupti_version);

/// Bytes that must be there for the fields that every known version has; 0 for a kind whose fields are not read.
std::size_t smallest_record_size(std::uint32_t kind);

}  // namespace underlap::cupti
