// SPDX-License-Identifier: Apache-2.0
#include "impl/device/cuda/cuda_device.hpp"

#include <numeric>

#include "platform/errors.hpp"
#include "tests/impl/device/cuda/cuda_ranks.hpp"
#include "tests/impl/device/device_behaviors.hpp"

namespace underlap::cuda {
namespace {

using cuda_host::Machine;
using namespace testing_support;  // NOLINT

void throw_something(const Arguments&) { throw std::runtime_error("an illegal address"); }

/// What one rank threw; empty where it did not.
template <class Program>
std::string error_of(Program program, CudaOptions options = {}, std::uint64_t seed = 1) {
  CudaRanks ranks(1, options, {.poll_interval = std::chrono::milliseconds(0)}, seed);
  return ranks.run_each([&](CudaDevice& device, const Group&) { program(device); })[0];
}

template <class Program>
void run_one(Program program, CudaOptions options = {}, std::uint64_t seed = 1) {
  EXPECT_EQ(error_of(program, std::move(options), seed), "");
}

TEST(CudaDevice, RunsAStreamInOrder) { run_one(expect_a_stream_in_order); }

TEST(CudaDevice, RefusesWrongUsesAndBytesThatDoNotFit) {
  run_one(expect_wrong_uses_to_be_refused);
  run_one([](CudaDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 4);
    std::vector<float> values(5);
    EXPECT_THROW(device.download(flat(x), std::as_writable_bytes(std::span(values))), std::invalid_argument);
    EXPECT_THROW(fill(device, stream, x, values), std::invalid_argument);
  });
}

TEST(CudaDevice, TriesOperationsOnZerosAndLeavesNoTraceOfThem) {
  static std::vector<float> seen;
  seen.clear();
  const auto see = [](const Arguments& a) { seen.push_back(std::exchange(a[0].as<float>()[1], 5.0F)); };
  const Tensor x{.id = 1, .dtype = DataType::f32, .elements = 2};
  const Launch rehearsed{Stream{0}, operation_of(see, {{flat(x), Access::inout}})};
  run_one(
      [](CudaDevice& device) {
        device.create_stream("compute");
        const Tensor tensor = device.allocate("x", DataType::f32, 2);
        device.begin();
        EXPECT_THAT(seen, ElementsAre(0.0F, 5.0F));
        EXPECT_THAT(read(device, tensor), Each(testing::IsNan()));
        EXPECT_EQ(device.next_operation(), 1U);
      },
      {.rehearsed = {rehearsed, rehearsed}});
}

TEST(CudaDevice, NamesTheOperationThatFailedWhenItWasTried) {
  const Tensor x{.id = 1, .dtype = DataType::f32, .elements = 2};
  EXPECT_THAT(error_of(
                  [](CudaDevice& device) {
                    device.create_stream("compute");
                    device.allocate("x", DataType::f32, 2);
                    device.begin();
                  },
                  {.rehearsed = {{Stream{0}, operation_of(throw_something, {{flat(x), Access::inout}})}}}),
              HasSubstr("test operation on stream compute, in a trial run before the first transfer: "));
}

TEST(CudaDevice, AnEventOrdersTwoStreams) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    run_one([](CudaDevice& d) { expect_an_event_to_order_two_streams(d, fill_with_seven); }, {}, seed);
}

TEST(CudaDevice, SynchronizesOnAnEventAndTakesOldOnesForPassed) {
  run_one([](CudaDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 1);
    device.launch(stream, {}, operation_of(fill_with_seven, {{flat(x), Access::out}}));
    const Event filled = device.record(stream);
    device.synchronize(filled);
    EXPECT_THAT(read(device, x), ElementsAre(7.0F));
    device.synchronize();
    Machine::instance().clear_calls();
    device.wait(stream, filled);
    device.wait(stream, Event{});
    device.synchronize(filled);
    EXPECT_EQ(Machine::instance().count_calls("cudaStreamWaitEvent"), 0);
    EXPECT_EQ(Machine::instance().count_calls("cudaEventSynchronize"), 0);
  });
}

TEST(CudaDevice, GivesStreamsThePrioritiesOfTheGpuAndFillsTensorsWithNaN) {
  run_one([](CudaDevice& device) {
    const Stream normal = device.create_stream("compute");
    const Stream high = device.create_stream("hurry", Priority::high);
    EXPECT_EQ(device.handle(normal)->priority, 0);
    EXPECT_EQ(device.handle(high)->priority, -5);
    const Tensor x = device.allocate("x", DataType::f32, 5);
    device.begin();
    EXPECT_THAT(read(device, x), Each(testing::IsNan()));
  });
}

TEST(CudaDevice, AllocatesNothingInSteps) {
  run_one([](CudaDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 100);
    const auto step = [&](int i) {
      fill(device, stream, x, std::vector<float>(100, 1.0F));
      device.launch(stream, {}, add_one_to(flat(x)));
      device.wait(stream, device.record(stream));
      device.mark(stream, 0, i);
      device.synchronize(device.record(stream));
    };
    for (int i = 0; i < 5; ++i) step(i);
    device.take_marks();
    Machine::instance().clear_calls();
    for (int i = 0; i < 5; ++i) step(i);
    for (const char* call :
         {"cudaMalloc", "cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaFree", "cudaFreeAsync", "cudaMallocHost",
          "cudaStreamCreateWithPriority", "cudaEventCreateWithFlags", "cudaDeviceSynchronize"})
      EXPECT_EQ(Machine::instance().count_calls(call), 0) << call;
    EXPECT_THROW(device.allocate("y", DataType::f32, 1), std::logic_error);
    EXPECT_THROW(device.create_stream("y"), std::logic_error);
  });
}

TEST(CudaDevice, TakesUploadedBytesAtOnceAndReusesAPinnedSlotOnlyOnceItIsEmpty) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    run_one(
        [](CudaDevice& device) {
          const std::array streams{device.create_stream("a"), device.create_stream("b")};
          std::vector<Tensor> tensors;
          for (int i = 0; i < 9; ++i) tensors.push_back(device.allocate("x", DataType::f32, 10));
          device.begin();
          std::vector<float> values(10);
          for (std::size_t i = 0; i < tensors.size(); ++i) {
            std::iota(values.begin(), values.end(), 100.0F * static_cast<float>(i));
            fill(device, streams[i % 2], tensors[i], values);
            std::ranges::fill(values, -1.0F);
          }
          device.synchronize();
          for (std::size_t i = 0; i < tensors.size(); ++i) {
            std::iota(values.begin(), values.end(), 100.0F * static_cast<float>(i));
            EXPECT_EQ(read(device, tensors[i]), values);
          }
        },
        {.staging_slots = 2, .staging_slot_bytes = 16}, seed);
}

TEST(CudaDevice, SaysWhichTensorFoundNoMemory) {
  const std::string error = error_of([](CudaDevice& device) {
    Machine::instance().set_memory(std::size_t{2} << 20);
    device.allocate("parameters", DataType::bf16, 1 << 18);
    device.allocate("main_gradients", DataType::f32, 1 << 20);
  });
  EXPECT_THAT(error, AllOf(HasSubstr("rank 0"), HasSubstr("main_gradients"), HasSubstr("4194304 bytes"),
                           HasSubstr("524544 bytes")));
}

TEST(CudaDevice, GivesEachOperationTheSmsBesideItsOwnMargin) {
  static std::vector<int> budgets, sms;
  budgets.clear();
  sms.clear();
  const auto with_margin = [](int margin) {
    return Operation(intern("test operation"), add_one, {.sm_margin = margin}, {});
  };
  run_one(
      [&](CudaDevice& device) {
        const Stream stream = device.create_stream("compute");
        device.begin();
        for (const int margin : {0, 1, 0}) device.launch(stream, {}, with_margin(margin));
        EXPECT_THROW(device.launch(stream, {}, with_margin(sms.front())), std::invalid_argument);
      },
      {.run_implementation = [](const Operation&, const Arguments&, LaunchContext& context) {
        budgets.push_back(context.sm_budget);
        sms.push_back(context.num_sms);
      }});
  EXPECT_THAT(budgets, ElementsAre(0, sms.front() - 1, 0));
}

TEST(CudaDevice, TellsFaultsOfKernelsAtTheNextSynchronize) {
  const std::string error = error_of(
      [](CudaDevice& device) {
        const Stream stream = device.create_stream("compute");
        device.begin();
        device.launch(stream, {}, operation_of(add_one, {}));
        EXPECT_THROW(device.synchronize(), MachineError);
        device.launch(stream, {}, operation_of(add_one, {}));
      },
      {.run_implementation = [](const Operation&, const Arguments&, LaunchContext& context) {
        Machine::instance().enqueue(
            context.stream, {.ready = {}, .run = [faults = context.faults] { *faults |= kTargetOutsideVocabulary; }});
      }});
  EXPECT_THAT(error, AllOf(HasSubstr("rank 0"), HasSubstr("operations 1 to 1"), HasSubstr("target is outside")))
      << "and is of no use afterwards";
}

TEST(CudaDevice, NamesTheOperationsAmongWhichAKernelFailed) {
  const std::string error = error_of([](CudaDevice& device) {
    const auto [stream, x] = begin_with_stream(device, 4);
    fill(device, stream, x, {1, 2, 3, 4});
    device.synchronize();
    device.launch(stream, {}, operation_of(throw_something, {{flat(x), Access::inout}}));
    device.launch(stream, {}, add_one_to(flat(x)));
    device.synchronize();
  });
  Machine::instance().reset(1, 1);
  EXPECT_THAT(error, AllOf(HasSubstr("rank 0"), HasSubstr("operations 2 to 3"), HasSubstr("cudaErrorLaunchFailure"),
                           HasSubstr("an illegal address")));
}

TEST(CudaDevice, NamesTheOperationWhoseLaunchWasRefused) {
  const std::string error = error_of(
      [](CudaDevice& device) {
        const auto [stream, x] = begin_with_stream(device, 4);
        device.launch(stream, {}, add_one_to(flat(x)));
      },
      {.run_implementation = [](const Operation&, const Arguments&, LaunchContext&) {
        throw MachineError("cudaErrorInvalidConfiguration");
      }});
  EXPECT_EQ(error, "rank 0: operation 1 (test operation) on stream compute: cudaErrorInvalidConfiguration");
}

TEST(CudaDevice, WaitsForItsMemoryToBeFreeBeforeThePoolGoes) {
  run_one([](CudaDevice& device) {
    device.allocate("x", DataType::f32, 4);
    device.begin();
  });
  const std::vector<std::string> calls = Machine::instance().calls;
  const auto pool = std::find(calls.rbegin(), calls.rend(), "cudaMemPoolDestroy");
  const auto free = std::find(pool, calls.rend(), "cudaFreeAsync");
  ASSERT_NE(free, calls.rend());
  EXPECT_NE(std::find(pool, free, "cudaStreamSynchronize"), free);
}

TEST(CudaDevice, WorkspacesGrowInTheOrderOfTheirStream) {
  static std::vector<std::byte*> places;
  places.clear();
  run_one(
      [](CudaDevice& device) {
        const auto [stream, x] = begin_with_stream(device, 4);
        Machine::instance().clear_calls();
        for (int i = 0; i < 3; ++i) device.launch(stream, {}, add_one_to(flat(x)));
        EXPECT_EQ(Machine::instance().count_calls("cudaMallocFromPoolAsync"), 2);
        EXPECT_EQ(Machine::instance().count_calls("cudaFreeAsync"), 1);
        EXPECT_EQ(Machine::instance().count_calls("cudaFree"), 0);
        device.synchronize();
      },
      {.run_implementation = [](const Operation&, const Arguments&, LaunchContext& context) {
        std::byte* const memory = context.workspace->take(places.size() == 1 ? 4096 : 1024);
        places.push_back(memory);
        Machine::instance().enqueue(context.stream, {.ready = {}, .run = [memory] { memory[1023] = std::byte{1}; }});
      }});
  ASSERT_EQ(places.size(), 3U);
  EXPECT_NE(places[0], places[1]);
  EXPECT_EQ(places[1], places[2]);
}

/// Writes down what a device tells it.
class WritingTracer final : public Tracer {
 public:
  void add_stream(std::uint32_t, std::string_view name) override { streams.emplace_back(name); }
  void add_group(std::uint32_t, const GroupRecord& group) override { groups.push_back(group); }
  void push(const EnqueuedOperation& operation) override {
    EXPECT_EQ(depth++, 0);
    operations.push_back(operation);
  }
  void pop() noexcept override { --depth; }

  int depth = 0;
  std::vector<std::string> streams;
  std::vector<GroupRecord> groups;
  std::vector<EnqueuedOperation> operations;
};

TEST(CudaDevice, TellsItsTracerEveryOperationByANumberThatRisesOverDevices) {
  WritingTracer tracer;
  std::uint64_t next = 41;
  for (int cell = 0; cell < 2; ++cell)
    run_one(
        [&](CudaDevice& device) {
          const Stream stream = device.create_stream("compute");
          const Communicator dp = device.declare("dp", {{0}, 0});
          const Tensor x = device.allocate("x", DataType::f32, 4);
          device.begin();
          fill(device, stream, x, {1, 2, 3, 4});
          device.mark(stream, 3, 8);
          all_reduce(device, dp, x);
          device.synchronize();
          next = device.next_operation();
        },
        {.first_operation = next, .tracer = &tracer});
  ASSERT_EQ(tracer.operations.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(tracer.operations[i].id, 41 + i);
  EXPECT_EQ(tracer.depth, 0);
  EXPECT_THAT(tracer.streams, ElementsAre("compute", "dp", "downloads", "compute", "dp", "downloads"));
  EXPECT_EQ(tracer.groups.at(0).purpose, intern("dp"));
  EXPECT_EQ(tracer.operations[1].mark->step, 8);
  EXPECT_EQ(tracer.operations[1].number, 2U);
  EXPECT_EQ(tracer.operations[2].number, 1U) << "counted from the mark on";
  EXPECT_EQ(tracer.operations[2].communication->transfers.at(0).bytes, 16);
  EXPECT_EQ(tracer.operations[2].stream, 1U);
  EXPECT_EQ(tracer.operations[3].name, intern("download")) << "of the fault word";
  EXPECT_EQ(tracer.operations[3].stream, 2U);
}

TEST(CudaDevice, TellsItsTracerWhichOperationsHaveAnSmBudget) {
  WritingTracer tracer;
  run_one(
      [](CudaDevice& device) {
        const Stream stream = device.create_stream("compute");
        device.begin();
        for (const int margin : {0, 1})
          device.launch(stream, {}, Operation(intern("test operation"), add_one, {.sm_margin = margin}, {}));
      },
      {.tracer = &tracer, .run_implementation = [](const Operation&, const Arguments&, LaunchContext&) {}});
  ASSERT_EQ(tracer.operations.size(), 2U);
  EXPECT_EQ(tracer.operations[0].sm_budget, 0);
  EXPECT_EQ(tracer.operations[1].sm_budget, 3) << "the GPU that is played has 4";
}

TEST(CudaDevice, TimesMarksByEvents) {
  run_one([](CudaDevice& device) {
    const Stream stream = device.create_stream("compute");
    device.begin();
    for (int step = 0; step < 3; ++step) device.mark(stream, 2, step);
    device.synchronize();
    const std::vector<Mark> marks = device.take_marks();
    ASSERT_EQ(marks.size(), 3U);
    EXPECT_EQ(marks[2].step, 2);
    EXPECT_EQ(marks[2].block, 2);
    // On the host device a millisecond lies between any two events.
    EXPECT_NEAR(static_cast<double>(marks[2].time_ns - marks[0].time_ns), 2e6, 2.0);
    EXPECT_THAT(device.take_marks(), IsEmpty());
  });
}

}  // namespace
}  // namespace underlap::cuda
