// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profiler/formats/kineto/parser.hpp"
#include "profiler/formats/pftrace/events.hpp"
#include "profiler/trace/reading.hpp"

namespace underlap::formats::pftrace {

/// Turns the events of a file into the rows that a Kineto trace has, so that both are joined by the same code.
///
/// - Render stages named Kernel, Memcpy and Memset are work, and so are slices with a category of GPU work, and slices
///   without a category on a track named as a stream ("stream 7").
/// - Work belongs to the call with the same correlation, the same flow id, or the call that lists its event id.
/// - Work whose call lies in record_param_comms has its collective. Otherwise it has the one that NCCL's profiler gave
///   it, or that of the function of RCCL around its call.
///
/// The rows are by time, with their work and collectives. Throws Cancelled.
KinetoEvents rows_of(Events&, KinetoLanes&, const Reading&);

}  // namespace underlap::formats::pftrace
