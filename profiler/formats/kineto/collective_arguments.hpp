// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

#include "profiler/formats/kineto/decimal_time.hpp"
#include "profiler/formats/kineto/events.hpp"

namespace underlap::formats {

/// Whether "[4, 4, 4]" has equal members, or none.
inline bool has_equal_members(std::string_view list) {
  const std::vector<std::string_view> numbers = numbers_in(list);
  return std::ranges::adjacent_find(numbers, std::not_equal_to()) == numbers.end();
}

/// Takes an argument of record_param_comms: `is(name)` compares its key, `text()` is its value, `id_of(text)` interns
/// the value. Returns whether it describes a collective.
///
/// {"Collective name": "allreduce", "In msg nelems": 6637568, "Out msg nelems": 6637568, "Group size": 2,
///  "dtype": "Float", "In split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}
template <class Is, class Text, class IdOf>
bool take_collective_argument(KinetoCollective& c, Is&& is, Text&& text, IdOf&& id_of) {
  const auto integer = [&](std::int64_t otherwise) { return integer_of(text()).value_or(otherwise); };
  if (is("dtype"))
    c.dtype = id_of(text());
  else if (is("Collective name"))
    c.name = id_of(text());
  else if (is("In msg nelems"))
    c.in_elements = integer(0);
  else if (is("Out msg nelems"))
    c.out_elements = integer(0);
  else if (is("Group size"))
    c.group_size = integer(0);
  else if (is("Process Group Name"))
    c.group_name = id_of(text());
  else if (is("Process Group Description"))
    c.group_description = id_of(text());
  else if (is("Process Group Ranks"))
    c.group_ranks = id_of(text());
  else if (is("Global rank start"))
    c.first_rank = integer(-1);
  else if (is("Global rank stride"))
    c.rank_stride = integer(0);
  else if (is("Seq"))
    c.sequence = integer(-1);
  else if (is("Src Rank") || is("Dst Rank"))
    c.peer = integer(-1);
  else if (is("In split size") || is("Out split size"))
    c.is_even = c.is_even && has_equal_members(text());
  else
    return false;
  return true;
}

}  // namespace underlap::formats
