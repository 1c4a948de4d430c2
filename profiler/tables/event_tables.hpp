// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/tables/column_table.hpp"
#include "profiler/tables/job_tables.hpp"

namespace underlap::tables {

/// Each kernel, copy and communication of the devices: a row for each of its slices.
ColumnTable kernels_of(const Job&);

/// Each communication of each rank: all copies of a copy-engine collective are one row.
ColumnTable collectives_of(const Job&);

}  // namespace underlap::tables
