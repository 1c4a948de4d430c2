// SPDX-License-Identifier: Apache-2.0
#include "tests/profiler/formats/made_up_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace underlap::testing_support {
namespace {

using enum MadeUpOperation::What;

// Formats with " for each '.
template <class... Arguments>
std::string json(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return quoted(fmt::format(text, std::forward<Arguments>(arguments)...));
}

// Joins the records of a list.
class List {
 public:
  void add(const std::string& record) { text_ += (text_.empty() ? "" : ",\n") + record; }
  const std::string& text() const { return text_; }
  std::string array() const { return "[" + text_ + "]"; }

 private:
  std::string text_;
};

int stream_of(const MadeUpOperation& op) { return op.what == gemm ? 7 : op.what == all_reduce ? 20 : 24; }

}  // namespace

std::string quoted(std::string text) {
  std::ranges::replace(text, '\'', '"');
  return text;
}

void for_each_made_up_step(const std::function<void(int, std::int64_t, std::int64_t)>& begin,
                           const std::function<void(const MadeUpOperation&)>& add) {
  constexpr std::int64_t kPeriod = 1000;
  std::int64_t id = 0;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t at = kMadeUpOrigin + i * kPeriod;
    begin(i, at - 40, at + kPeriod - 100);
    add({copy, at, at + 50, at - 30, ++id});
    add({gemm, at, at + 350, at - 20, ++id});
    add({gemm, at + 350, at + 600, at - 10, ++id});
    add({all_reduce, at + 400, at + 800 + 50 * i, at + 5, ++id});
  }
}

std::string rocprof_process(int pid, int gpu) {
  List kernels, copies, calls, markers, texts;
  const auto record = [&](int kind, int operation, std::int64_t id, std::int64_t start, std::int64_t end) {
    return json(
        "'size':64,'kind':{},'operation':{},'thread_id':{},'correlation_id':{{'internal':{},'external':0}},"
        "'start_timestamp':{}000,'end_timestamp':{}000",
        kind, operation, pid, id, start, end);
  };
  const auto object = [](const std::string& members, const std::string& more = "") {
    return "{" + members + quoted(more) + "}";
  };
  for_each_made_up_step(
      [&](int step, std::int64_t start, std::int64_t end) {
        markers.add(object(record(3, 0, 100 + step, start, end)));
        texts.add(json("{{'key':{},'value':'step {}'}}", 100 + step, step));
      },
      [&](const MadeUpOperation& op) {
        calls.add(object(record(0, op.what == copy ? 1 : 0, op.id, op.launch, op.launch + 2)));
        const std::string stream = fmt::format(",'stream_id':{{'handle':{}}}", stream_of(op));
        if (op.what == copy)
          copies.add(object(record(1, 2, op.id, op.start, op.end),
                            ",'dst_agent_id':{'handle':71},'src_agent_id':{'handle':70},'bytes':1048576" + stream));
        else
          kernels.add(object(record(2, 2, op.id, op.start, op.end),
                             fmt::format(",'dispatch_info':{{'agent_id':{{'handle':71}},'queue_id':{{'handle':{}}},"
                                         "'kernel_id':{},'workgroup_size':{{'x':256,'y':1,'z':1}},"
                                         "'grid_size':{{'x':65537,'y':2,'z':1}}}}",
                                         op.what == gemm ? 17 : 18, op.what == gemm ? 1 : 2) +
                                 stream));
      });
  return json(
      "{{'metadata':{{'node':{{'hostname':'n0'}},'pid':{}}},'agents':[{{'id':{{'handle':70}},'type':1}},"
      "{{'id':{{'handle':71}},'type':2,'logical_node_type_id':{},'product_name':'AMD Instinct MI350X'}}],"
      "'strings':{{'buffer_records':[{{'kind':'HIP_RUNTIME_API','operations':['hipLaunchKernel','hipMemcpyAsync']}},"
      "{{'kind':'MEMORY_COPY','operations':[]}},{{'kind':'KERNEL_DISPATCH','operations':[]}},"
      "{{'kind':'MARKER_CORE_API','operations':['roctxRangePushA']}}],'marker_api':{}}},"
      "'kernel_symbols':[{{'kernel_id':0,'formatted_kernel_name':'','kernel_name':''}},"
      "{{'kernel_id':1,'formatted_kernel_name':'','demangled_kernel_name':'Cijk_Ailk_Bljk.kd','kernel_name':'x'}},"
      "{{'kernel_id':2,'formatted_kernel_name':'ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)'}}],"
      "'buffer_records':{{'kernel_dispatch':{},'hip_api':{},'marker_api':{},'memory_copy':{}}}}}",
      pid, gpu, texts.array(), kernels.array(), calls.array(), markers.array(), copies.array());
}

std::string rocprof_file(const std::vector<std::string>& processes) {
  List list;
  for (const std::string& process : processes) list.add(process);
  return quoted("{'rocprofiler-sdk-tool':") + list.array() + "}";
}

std::string jax_file(int gpus) {
  List events;
  const auto name = [&](int pid, int tid, std::string_view what, std::string_view text) {
    events.add(json("{{'ph':'M','pid':{},'tid':{},'name':'{}','args':{{'name':'{}'}}}}", pid, tid, what, text));
  };
  const auto slice = [&](int pid, int tid, std::int64_t start, std::int64_t end, std::string_view text,
                         const std::string& arguments) {
    events.add(json("{{'ph':'X','pid':{},'tid':{},'ts':{},'dur':{},'name':'{}','args':{{{}}}}}", pid, tid, start,
                    end - start, text, arguments));
  };
  for (int gpu = 0; gpu < gpus; ++gpu) {
    name(gpu + 1, 0, "process_name", fmt::format("/device:GPU:{}", gpu));
    for (const int stream : {7, 20, 24})
      name(gpu + 1, stream, "thread_name", fmt::format("Stream #{}(Compute)", stream));
    name(gpu + 1, 90, "thread_name", "XLA Ops");
  }
  name(701, 0, "process_name", "/host:CPU");
  name(701, 9001, "thread_name", "python");
  const auto add = [&](int gpu, const MadeUpOperation& op) {
    const std::string id = fmt::format("'correlation_id':'{}'", 100 * gpu + op.id);
    const std::string kernel = id + ",'kernel_details':'regs:96 grid:24,2,1 block:512,1,1 occ_pct:25','hlo_op':";
    slice(701, 500 + gpu, op.launch, op.launch + 2, "cuLaunchKernelEx", id + ",'hlo_op':'all-reduce.1'");
    if (op.what == copy)
      slice(gpu + 1, 24, op.start, op.end, "MemcpyH2D", id + ",'memcpy_details':'kind_src:pinned size:1048576 dest:0'");
    else if (op.what == gemm)
      slice(gpu + 1, 7, op.start, op.end, "sm90_xmma_gemm", kernel + "'gemm_fusion_dot.12'");
    else
      slice(gpu + 1, 20, op.start, op.end, "one_shot_kernel", kernel + "'all-reduce-start.1'");
    if (op.what == gemm) slice(gpu + 1, 90, op.start, op.end, "gemm_fusion_dot.12", "");
  };
  for_each_made_up_step(
      [&](int step, std::int64_t start, std::int64_t end) {
        slice(701, 9001, start, end, "train", fmt::format("'step_num':'{}'", step));
        slice(701, 9001, start, start + 1, "ThreadpoolListener::Record", "");
      },
      [&](const MadeUpOperation& op) {
        for (int gpu = 0; gpu < gpus; ++gpu) add(gpu, op);
      });
  events.add("{}");
  return quoted("{'displayTimeUnit':'ns','metadata':{'highres-ticks':true},'traceEvents':") + events.array() + "}";
}

std::string ascend_file(std::string_view process, bool names_first) {
  List events, names;
  const auto name = [&](int pid, int tid, std::string_view what, std::string_view text) {
    names.add(
        json("{{'ph': 'M', 'name': '{}', 'pid': {}, 'tid': {}, 'args': {{'name': '{}'}}}}", what, pid, tid, text));
  };
  const auto slice = [&](int pid, int tid, std::int64_t start, std::int64_t end, std::string_view text,
                         const std::string& arguments) {
    events.add(json("{{'name': '{}', 'pid': {}, 'tid': {}, 'ts': '{}.500', 'dur': {}, 'args': {{{}}}, 'ph': 'X'}}",
                    text, pid, tid, start, end - start, arguments));
  };
  name(4242, 0, "process_name", "Python");
  name(4243, 0, "process_name", "CANN");
  name(800, 0, "process_name", "Ascend Hardware");
  for (const int stream : {7, 20, 24}) name(800, stream, "thread_name", fmt::format("Stream {}", stream));
  name(900, 0, "process_name", process);
  name(900, 0, "thread_name", "Group group_name_0 Communication");
  name(900, 1, "thread_name", "Plane 0");
  name(1000, 0, "process_name", "Overlap Analysis");
  const auto add_all_reduce = [&](const MadeUpOperation& op, const std::string& id) {
    const auto task = [&](std::int64_t start, std::int64_t end, const char* what, const char* type) {
      slice(800, 20, start, end, what, fmt::format("'Task Type': '{}', 'Stream Id': 20, {}", type, id));
    };
    slice(900, 0, op.start, op.end, "hcom_allReduce__606_0_1", id + ", 'data_type': 'FP32', 'count': 2097152");
    slice(900, 1, op.start, op.end, "Reduce_Inline", "'stream id': 20, 'task type': 'SDMA'");
    task(op.start, op.start + 100, "Notify_Wait", "EVENT_WAIT_SQE");
    task(op.start + 100, op.end, "Reduce_Inline", "SDMA_SQE");
    slice(1000, 1, op.start, op.end, "Communication", "");
    slice(1000, 2, op.start + 200, op.end, "Communication(Not Overlapped)", "");
  };
  for_each_made_up_step(
      [&](int step, std::int64_t start, std::int64_t end) {
        slice(4242, 4242, start, end, fmt::format("ProfilerStep#{}", step), "");
      },
      [&](const MadeUpOperation& op) {
        const std::string id = fmt::format("'connection_id': {}", op.id);
        slice(4243, 4242, op.launch, op.launch + 2, "AscendCL@launch", "'level': 'acl', " + id);
        if (op.what == all_reduce) return add_all_reduce(op, id);
        slice(800, stream_of(op), op.start, op.end, op.what == copy ? "MEMCPY_ASYNC" : "MatMulV2",
              fmt::format("'Task Type': '{}', 'Stream Id': {}, {}", op.what == copy ? "PCIE_DMA_SQE" : "AI_CORE",
                          stream_of(op), id));
        if (op.what == gemm) slice(1000, 0, op.start, op.end, "Computing", "");
      });
  return "[" + (names_first ? names : events).text() + ",\n" + (names_first ? events : names).text() + "]";
}

std::string xpu_file() {
  List events;
  const auto slice = [&](const char* category, std::string_view name, int pid, int tid, std::int64_t start,
                         std::int64_t end, const std::string& arguments) {
    events.add(
        json("{{'ph': 'X', 'cat': '{}', 'name': '{}', 'pid': {}, 'tid': {}, 'ts': {}, 'dur': {}, 'args': {{{}}}}}",
             category, name, pid, tid, start, end - start, arguments));
  };
  for_each_made_up_step(
      [&](int step, std::int64_t start, std::int64_t end) {
        slice("user_annotation", fmt::format("ProfilerStep#{}", step), 42, 42, start, end, "");
      },
      [&](const MadeUpOperation& op) {
        const std::string id = fmt::format("'correlation': {}", op.id);
        const std::string external = fmt::format("'External id': {}", 50 + op.id);
        slice("xpu_runtime", "urEnqueueKernelLaunch", 42, 42, op.launch, op.launch + 2, id);
        slice(op.what == copy ? "gpu_memcpy" : "kernel",
              op.what == copy   ? "Memcpy M2D (Host -> Device)"
              : op.what == gemm ? "gemm_kernel"
                                : "oneccl_reduce_base<float, 2, 16, 1, 1, 2>",
              0, stream_of(op), op.start, op.end,
              fmt::format("{}, {}, 'device': 0, 'context': '0x01', 'sycl queue': {}", external, id, stream_of(op)));
        if (op.what != all_reduce) return;
        slice("collective_comm", "xccl::allreduce", 42, 42, op.launch - 2, op.launch + 6, "'Communicator_id': 3");
        slice("cpu_op", "record_param_comms", 42, 42, op.launch - 2, op.launch + 6,
              external +
                  ", 'Collective name': 'allreduce', 'dtype': 'Float', 'In msg nelems': 2097152, "
                  "'Out msg nelems': 2097152, 'Group size': 2, 'Process Group Name': '0', "
                  "'Process Group Ranks': '[0, 1]'");
      });
  return quoted(
             "{'schemaVersion': 1, 'xpupti_version': '0.13.0', 'distributedInfo': {'backend': 'xccl', 'rank': 0, "
             "'world_size': 2}, 'traceEvents': ") +
         events.array() + "}";
}

}  // namespace underlap::testing_support
