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

/// A number of a hardware description, with where it comes from.
struct Figure {
  double value = 0;
  std::string source = {};
  bool unverified = false;  ///< from memory, assumed or carried over from other hardware: never read or measured for it
};

/// A measured or derived curve, with where it comes from.
struct SourcedCurve {
  Curve curve;
  std::string source;
  bool unverified = false;
};

/// What one GPU can do. Rates are dense and per direction.
struct Gpu {
  std::vector<std::string> cuda_names;  ///< what CUDA calls such a GPU; none where nothing was measured on it
  Figure sms;
  Figure bf16_tflops;
  std::optional<Figure> fp8_tflops;  ///< absent: the GPU cannot
  /// Of the clock behind the rates above, what a training keeps up in GEMMs and attention at the power limit.
  /// Absent: 1.
  std::optional<Figure> sustained_clock;
  Figure hbm_gb_per_s;
  Figure hbm_gb;
  Figure l2_mb;
  Figure copy_engines;
  Figure host_link_gb_per_s;     ///< to the CPU's memory
  Figure memory_saturation_sms;  ///< SMs that already take the whole HBM bandwidth
  Figure kernel_overhead_us;     ///< from the moment a kernel could start to its first useful instruction, and its end
};

/// How GPUs are joined: by NVLink inside a node, by one network port each between nodes.
struct Node {
  Figure gpus;
  Figure nvlink_gb_per_s;       ///< line rate of one GPU and direction
  Figure network_gb_per_s;      ///< line rate of one GPU's port and direction
  Figure p2p_nvlink_gb_per_s;   ///< what one send reaches inside a node
  Figure p2p_network_gb_per_s;  ///< what one send reaches between nodes
  Figure p2p_nvlink_latency_us;
  Figure p2p_network_latency_us;
  Figure p2p_sms;                         ///< blocks of a send or a receive
  std::optional<Figure> p2p_network_sms;  ///< the same to another node, where it takes others
};

/// What enqueuing costs the host, and what the framework that is followed costs it besides. Absent: nothing.
struct HostFigures {
  Figure kernel_launch_us;
  Figure collective_launch_us;
  Figure copy_launch_us;
  Figure event_record_us;
  Figure event_wait_us;
  Figure launch_queue_depth;               ///< launches that a device accepts before the host blocks
  std::optional<Figure> schedule_call_us;  ///< from a schedule's call for a pass to its first launch
  std::optional<Figure> synchronize_us;    ///< from the end of what it waits for until the host goes on
  std::optional<Figure> iteration_us;      ///< the training loop between two steps
};

/// Efficiency of causal attention over the sequence length, for one head size.
struct AttentionCurve {
  std::int64_t head_size = 0;
  SourcedCurve over_sequence;
};

/// Efficiencies as fractions of the peak that the shape is limited by.
struct KernelCurves {
  Figure gemm_tile_rows;
  Figure gemm_tile_cols;
  /// What a GEMM takes beside whole waves of tiles, filling its pipelines first and writing its last tiles.
  /// Absent: gpu.kernel_overhead_us.
  std::optional<Figure> gemm_overhead_us;
  SourcedCurve gemm_bf16;                          ///< of one tile, over K
  std::optional<SourcedCurve> gemm_fp8;            ///< likewise; present where fp8_tflops is
  std::vector<AttentionCurve> attention_forward;   ///< by ascending head size, not empty
  std::vector<AttentionCurve> attention_backward;  ///< likewise
  SourcedCurve memory;                             ///< of the HBM bandwidth, over bytes moved
};

/// time = latency + message / algbw, for messages of at most `up_to_bytes` and above the segment before.
struct Segment {
  std::int64_t up_to_bytes = 0;
  double latency_us = 0;
  double busbw_gb_per_s = 0;  ///< as nccl-tests defines it for the collective
};

/// The time of one collective by one algorithm, on the group that it is known for; other groups' times are carried over
/// from it as nccl_tuner.hpp compares the two.
struct CollectiveTimes {
  Collective collective = Collective::all_reduce;
  nccl::Algorithm algorithm = nccl::Algorithm::ring;
  std::int32_t ranks = 0;         ///< of the group behind the figures
  std::int32_t nodes = 0;         ///< that it spans; 1: the figures serve groups inside a node, else those across nodes
  std::int32_t sms = 0;           ///< blocks of its kernel, one on each SM
  std::vector<Segment> segments;  ///< ascending; the last one serves every larger message too
  std::string source;
  bool unverified = false;
};

/// What NCCL knows of the machine: it chooses by this, and times of one group are carried over to another by it.
/// A channel's rate is its bus bandwidth.
struct NcclFigures {
  nccl::Generation generation = nccl::Generation::hopper;
  std::vector<nccl::Algorithm> algorithms;  ///< that it may choose from; ring is among them
  std::vector<nccl::Protocol> protocols;    ///< likewise; simple is among them
  Figure ring_channels;                     ///< rings and trees inside a node
  Figure ring_channel_gb_per_s;
  Figure network_channels;  ///< rings and trees across nodes, all GPUs of a node taking part
  Figure network_channel_gb_per_s;
  /// The most of them that one GPU's port takes, where few GPUs of a node take part. Absent: always all.
  std::optional<Figure> channels_per_port;
  Figure network_latency_us;            ///< of the port, added to a hop between nodes
  std::optional<Figure> nvls_channels;  ///< reduction in the switch; present where nvls or nvls_tree may be chosen
  std::optional<Figure> nvls_channel_gb_per_s;
  /// What one multiprocessor can carry inside a node, in bus bandwidth, where a collective is held to fewer than it
  /// would take. Absent: its share of what all that it would take carry.
  std::optional<Figure> sm_gb_per_s;
};

/// The machine that the times of collectives were taken on, as far as NCCL's model sees it.
struct TakenOn {
  NcclFigures nccl;
  double nvlink_gb_per_s = 0;
  double network_gb_per_s = 0;
};

/// What a communication beside it does to a kernel, measured.
struct Interference {
  bool copy_engine = false;  ///< a copy engine's copies; else a kernel of `sms` blocks
  int sms = 0;
  double gb_per_s = 0;                          ///< that the communication was paced to; 0: as fast as it went
  std::optional<double> carried_gb_per_s = {};  ///< that it moved, where that was long enough to tell
  std::string of;                               ///< gemm, attention, norm
  double slowdown = 1;                          ///< time beside it over time alone
  double spread = 0;                            ///< half of the middle half of the samples, over their median
};

/// Whether something that waits holds up a kernel of another stream, measured. `held` is how far into the time that the
/// first had to wait the kernel began: near 0 not at all, near 1 to its end.
struct QueueObservation {
  int connections = 0;      ///< CUDA_DEVICE_MAX_CONNECTIONS of the process
  std::string behind;       ///< nothing, kernel (behind a running one of its stream), wait (for its event), record
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
  /// Where `collectives` were taken: they are carried over from there to the figures above. Absent: on this machine.
  std::optional<TakenOn> collectives_taken_on;

  /// Paths of the figures that nobody read or measured for this hardware, e.g. "host.kernel_launch_us".
  std::vector<std::string> unverified;
  std::int64_t num_figures = 0;  ///< figures, curves and collectives, verified or not

  std::string base;                   ///< of a measured file: the description under it
  std::vector<std::string> measured;  ///< paths of the figures and curves that were measured in place of the base's
  std::vector<Interference> interference;
  std::vector<QueueObservation> hardware_queues;
};

/// Names of the descriptions that the program carries, sorted.
std::vector<std::string> hardware_names();

/// The description of that name, or else the file at that path.
/// Throws std::invalid_argument where there is neither, naming the nearest name; and where the file is wrong, with
/// every error, a line each: file:line:column: what is wrong.
Hardware load_hardware(const std::string& name_or_path);

/// Reads a description from YAML text; `where` stands for the file's name in errors. Throws as load_hardware does.
Hardware parse_hardware(const std::string& yaml, const std::string& where);

}  // namespace underlap::sim
