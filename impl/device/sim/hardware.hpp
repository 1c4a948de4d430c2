// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/device/sim/curve.hpp"
#include "impl/device/sim/nccl_names.hpp"
#include "profiler/trace/communication.hpp"

namespace underlap::sim {

/// A number of a hardware description, with its source.
struct Figure {
  double value = 0;
  std::string source = {};
  bool unverified = false;  ///< from memory, assumed or copied from other hardware: never read or measured for this
                            ///< hardware
};

/// A measured or derived curve, with its source.
struct SourcedCurve {
  Curve curve;
  std::string source;
  bool unverified = false;
};

/// The performance of one GPU. Rates are dense and per direction.
struct Gpu {
  std::vector<std::string> cuda_names;  ///< CUDA's names of such a GPU; empty if nothing was measured on it
  Figure sms;
  Figure bf16_tflops;
  std::optional<Figure> fp8_tflops;  ///< absent: not supported by the GPU
  /// Share of the clock of the rates above that training sustains in GEMMs and attention at the power limit. Absent: 1.
  std::optional<Figure> sustained_clock;
  Figure hbm_gb_per_s;
  Figure hbm_gb;
  Figure l2_mb;
  Figure copy_engines;
  Figure host_link_gb_per_s;     ///< to the CPU's memory
  Figure memory_saturation_sms;  ///< SMs that are enough to saturate the HBM bandwidth
  Figure kernel_overhead_us;     ///< from the moment a kernel could start to its first useful instruction, plus the end
                                 ///< of the kernel
};

/// How GPUs are connected: by NVLink inside a node, by one network port per GPU between nodes.
struct Node {
  Figure gpus;
  Figure nvlink_gb_per_s;       ///< line rate of one GPU and direction
  Figure network_gb_per_s;      ///< line rate of one GPU's port and direction
  Figure p2p_nvlink_gb_per_s;   ///< rate of one send inside a node
  Figure p2p_network_gb_per_s;  ///< rate of one send between nodes
  Figure p2p_nvlink_latency_us;
  Figure p2p_network_latency_us;
  Figure p2p_sms;                         ///< blocks of a send or a receive
  std::optional<Figure> p2p_network_sms;  ///< the same to another node, if different
};

/// Host cost of enqueuing, and of the emulated framework. Absent: no cost.
struct HostFigures {
  Figure kernel_launch_us;
  Figure collective_launch_us;
  Figure copy_launch_us;
  Figure event_record_us;
  Figure event_wait_us;
  Figure launch_queue_depth;               ///< launches that a device accepts before the host blocks
  std::optional<Figure> schedule_call_us;  ///< from a schedule's call for a pass to its first launch
  std::optional<Figure> synchronize_us;    ///< from the end of the awaited work until the host continues
  std::optional<Figure> iteration_us;      ///< the training loop between two steps
};

/// Efficiency of causal attention over the sequence length, for one head size.
struct AttentionCurve {
  std::int64_t head_size = 0;
  SourcedCurve over_sequence;
};

/// Efficiencies as fractions of the peak that limits the shape.
struct KernelCurves {
  Figure gemm_tile_rows;
  Figure gemm_tile_cols;
  /// Time of a GEMM in addition to whole waves of tiles: filling its pipelines first and writing its last tiles.
  /// Absent: gpu.kernel_overhead_us.
  std::optional<Figure> gemm_overhead_us;
  SourcedCurve gemm_bf16;                          ///< of one tile, over K
  std::optional<SourcedCurve> gemm_fp8;            ///< likewise; present if fp8_tflops is
  std::vector<AttentionCurve> attention_forward;   ///< by ascending head size, not empty
  std::vector<AttentionCurve> attention_backward;  ///< likewise
  SourcedCurve memory;                             ///< of the HBM bandwidth, over bytes moved
};

/// time = latency + message / algbw, for messages of at most `up_to_bytes` and larger than the previous segment's.
struct Segment {
  std::int64_t up_to_bytes = 0;
  double latency_us = 0;
  double busbw_gb_per_s = 0;  ///< as defined by nccl-tests for the collective
};

/// The time of one collective by one algorithm on the measured group. Times of other groups are derived from it by
/// comparing both groups with nccl_tuner.hpp.
struct CollectiveTimes {
  Collective collective = Collective::all_reduce;
  nccl::Algorithm algorithm = nccl::Algorithm::ring;
  std::int32_t ranks = 0;         ///< of the measured group
  std::int32_t nodes = 0;         ///< of the measured group; 1: used for groups inside a node, otherwise for groups
                                  ///< across nodes
  std::int32_t sms = 0;           ///< blocks of its kernel, one on each SM
  std::vector<Segment> segments;  ///< ascending; the last one also covers all larger messages
  std::string source;
  bool unverified = false;
};

/// What NCCL knows about the machine: it selects algorithms by these figures, and they are used to derive times of
/// other groups. A channel's rate is its bus bandwidth.
struct NcclFigures {
  nccl::Generation generation = nccl::Generation::hopper;
  std::vector<nccl::Algorithm> algorithms;  ///< algorithms to choose from, including ring
  std::vector<nccl::Protocol> protocols;    ///< likewise, including simple
  Figure ring_channels;                     ///< rings and trees inside a node
  Figure ring_channel_gb_per_s;
  Figure network_channels;  ///< rings and trees across nodes when all GPUs of a node take part
  Figure network_channel_gb_per_s;
  /// The maximum number of them on one GPU's port when few GPUs of a node take part. Absent: always all.
  std::optional<Figure> channels_per_port;
  Figure network_latency_us;            ///< of the port, added to a hop between nodes
  std::optional<Figure> nvls_channels;  ///< reduction in the switch; present if nvls or nvls_tree may be chosen
  std::optional<Figure> nvls_channel_gb_per_s;
  /// The rate of one multiprocessor inside a node, in bus bandwidth, if a collective is limited to fewer than it would
  /// use. Absent: an equal share of the rate of all that it would use.
  std::optional<Figure> sm_gb_per_s;
};

/// The machine on which the collectives were timed, as far as NCCL's model needs it.
struct TakenOn {
  NcclFigures nccl;
  double nvlink_gb_per_s = 0;
  double network_gb_per_s = 0;
};

/// The measured effect of concurrent communication on a kernel.
struct Interference {
  bool copy_engine = false;  ///< copies of a copy engine; otherwise a kernel of `sms` blocks
  int sms = 0;
  double gb_per_s = 0;                          ///< requested rate of the communication; 0: unlimited
  std::optional<double> carried_gb_per_s = {};  ///< measured rate, if the communication was long enough to measure it
  std::string of;                               ///< gemm, attention, norm
  double slowdown = 1;                          ///< time with communication over time alone
  double spread = 0;                            ///< half of the interquartile range of the samples, over their median
};

/// Measures whether a waiting command delays a kernel of another stream. `held` is when the kernel started, as a share
/// of the first command's waiting time: near 0 if it was not delayed, near 1 if until the end.
struct QueueObservation {
  int connections = 0;      ///< CUDA_DEVICE_MAX_CONNECTIONS of the process
  std::string behind;       ///< nothing, kernel (after a running one of its stream), wait (for its event), record
  bool same_queue = false;  ///< as many streams later as there are connections; false: the next stream
  double held = 0;
  double spread = 0;

  bool holds() const { return held > 0.5; }
};

/// A kind of machine: results/hardware/NAME.yaml, schema underlap.hardware/1; or one GPU of that kind with figures
/// measured on it, schema underlap.measured/1 (measured.hpp).
struct Hardware {
  std::string name;
  std::string description;
  Gpu gpu;
  Node node;
  HostFigures host;
  KernelCurves kernels;
  NcclFigures nccl;
  std::vector<CollectiveTimes> collectives;
  /// The machine on which `collectives` were timed, from which they are converted to the figures above. Absent: this
  /// machine.
  std::optional<TakenOn> collectives_taken_on;

  /// Paths of the figures that were never read or measured for this hardware, e.g. "host.kernel_launch_us".
  std::vector<std::string> unverified;
  std::int64_t num_figures = 0;  ///< figures, curves and collectives, verified or not

  std::string base;                   ///< of a measured file: the description that it is based on
  std::vector<std::string> measured;  ///< paths of the figures and curves whose measurements replace the base's
  std::vector<Interference> interference;
  std::vector<QueueObservation> hardware_queues;
};

/// Names of the built-in descriptions, sorted.
std::vector<std::string> hardware_names();

/// The built-in description of that name, or else the file at that path. Throws std::invalid_argument if neither
/// exists, with the nearest name. If the file is wrong, throws with every error, one a line: file:line:column: problem.
Hardware load_hardware(const std::string& name_or_path);

/// Reads a description from YAML text; `where` is the file's name in errors. Throws as load_hardware does.
Hardware parse_hardware(const std::string& yaml, const std::string& where);

}  // namespace underlap::sim
