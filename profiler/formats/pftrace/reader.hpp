// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "profiler/trace/trace.hpp"

namespace underlap {
class Reading;
}

namespace underlap::formats::pftrace {

/// Whether a file that starts with these bytes has Perfetto packets. False for an xplane.pb, which looks similar.
bool is_foreign(std::string_view bytes);

/// Reads a Perfetto trace that another program wrote, whole into memory: the PyTorch profiler (render stages or
/// slices), rocprofv3, or any program that shows kernels on tracks named "stream N", which may be below "GPU M".
///
/// Packets may be compressed (zlib, zstd), and their clocks incremental. Unusable packets and events are counted in
/// Trace::import.skipped by reason, and all others are kept. Ranks are not recorded: metadata "rank" is "assumed".
/// Throws as read_bytes() does, and Cancelled; std::invalid_argument for a trace without work of a GPU, naming the
/// categories and tracks that it has.
Trace read(const std::filesystem::path&, Reading&);

/// The same from memory, decompressed. `origin` names the bytes in messages.
Trace read(std::string_view bytes, const std::filesystem::path& origin);

}  // namespace underlap::formats::pftrace
