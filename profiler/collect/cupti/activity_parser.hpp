// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "profiler/collect/cupti/activities.hpp"

namespace underlap::cupti {

/// Reads the bytes of activity buffers, written by any known version of CUPTI, on any machine.
///
/// Records are found by the table of record_layouts.hpp. cuptiActivityGetNextRecord only knows the sizes of its own
/// release. If the version is newer than the table, and the library that wrote the buffer is available (`next_record`),
/// the library finds the records. Their fields are then read by the table's oldest layout: fields keep their offsets.
///
/// Unusable data is counted by reason in Activities::skipped, and never read past. The rest of a buffer cannot be read
/// after a kind of unknown size or a record that CUPTI had not completed. Also counted: a buffer that ends inside a
/// record, missing, reversed or out-of-range times, impossible launch shapes, and unknown names. Safe to use from
/// several threads at once.
class ActivityParser {
 public:
  /// The name at an address of the process that wrote the buffer; nullopt if it is unknown.
  using NameAt = std::function<std::optional<NameId>(std::uint64_t address)>;
  /// The record after `previous` (nullptr: the first). nullptr at the end of the buffer; nullopt if the next record was
  /// not completed, because nothing can be found after it.
  using NextRecord =
      std::function<std::optional<const std::uint8_t*>(std::span<const std::uint8_t>, const std::uint8_t* previous)>;

  /// Throws MachineError if the version is unknown and there is no `next_record`.
  ActivityParser(std::uint32_t cupti_version, NameAt, NextRecord next_record = {});

  /// Adds the records of one buffer to `activities`. Reads each byte of `buffer` at most as a record's.
  void parse(std::span<const std::uint8_t> buffer, Activities& activities) const;

 private:
  void walk_by_table(std::span<const std::uint8_t>, Activities&) const;
  void walk_by_library(std::span<const std::uint8_t>, Activities&) const;
  void add(std::span<const std::uint8_t> record, Activities&) const;

  std::uint32_t version_;
  NameAt name_at_;
  NextRecord next_record_;
};

/// Of what was skipped, that by which something that ran on a device is missing: how often, by reason.
std::map<std::string, std::int64_t> lost_records(const Activities&);

/// Names in this very process: the address is that of a string. Only for buffers that its own CUPTI wrote.
std::optional<NameId> name_in_this_process(std::uint64_t address);

}  // namespace underlap::cupti
