// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "profiler/collect/cupti/activities.hpp"

namespace underlap::cupti {

/// Reads the bytes of activity buffers, written by any known version of CUPTI, on any machine.
///
/// Records are found by the table of record_layouts.hpp and not by cuptiActivityGetNextRecord, which knows the sizes of
/// its own release alone. Where the version is newer than what the table was checked against, and the library that
/// wrote the buffer is at hand (`next_record`), the library says where a record begins and the table's oldest layout
/// says what is in it: fields keep their offsets.
///
/// What cannot be used is counted by reason in Activities::skipped and never read past: kinds without a size and
/// records that CUPTI had not completed (the rest of the buffer cannot be read then), a buffer that ends inside a
/// record, times that are missing, reversed or out of range, shapes that no launch can have, names that are not known.
/// Safe to use from several threads at once.
class ActivityParser {
 public:
  /// The name at an address of the process that wrote the buffer; nullopt where it is not known.
  using NameAt = std::function<std::optional<NameId>(std::uint64_t address)>;
  /// The record behind `previous` (nullptr: the first); nullptr where the buffer ends; nullopt where it goes on with
  /// one that was not completed, behind which nothing can be found.
  using NextRecord =
      std::function<std::optional<const std::uint8_t*>(std::span<const std::uint8_t>, const std::uint8_t* previous)>;

  /// Throws MachineError where the version is not known and there is no `next_record` to ask.
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
