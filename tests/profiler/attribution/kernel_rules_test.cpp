// SPDX-License-Identifier: Apache-2.0
#include "profiler/attribution/kernel_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "platform/input/input_file.hpp"
#include "platform/yaml_document.hpp"
#include "profiler/attribution/group_names.hpp"
#include "profiler/attribution/mode_map.hpp"
#include "profiler/attribution/name_patterns.hpp"

namespace underlap::attribution {
namespace {

using Says = NameMeaning::Says;

TEST(KernelName, LeavesOutReturnTypesArgumentsAndUnnamedNamespaces) {
  constexpr std::pair<std::string_view, std::string_view> kCases[] = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
       "ncclKernel_AllReduce_RING_LL_Sum_float"},
      {"void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*, float const*)", "dpsk::ep::internode::dispatch"},
      {"void at::native::(anonymous namespace)::multimem_all_reduce_kernel<float, 16>(float*)",
       "at::native::multimem_all_reduce_kernel"},
      {"void <unnamed>::one_shot_all_reduce_kernel<(int)8>(T1 **)", "one_shot_all_reduce_kernel"},
      {"std::enable_if<!((4) < (5)), void>::type internal::gemvx::kernel<int, int, float>(cublasGemvParams<int>)",
       "internal::gemvx::kernel"},
      {"void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*, long*>::Policy, long*>(long*)",
       "cub::DeviceReduceByKeyKernel"},
      {"void f<g<int>::h, (a)0>(int)::{lambda(int)#1}::operator()(int) const", "f::::operator()"},
      {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) [clone .kd]", "ncclDevKernel_Generic_1"},
      {"_ZN7deep_ep9intranode7barrierILi8EEEvPPii", "deep_ep::intranode::barrier"},
      {"void vllm::cross_device_reduce_2stage<__nv_bfl", "vllm::cross_device_reduce_2stage"},
      {"void __global__fn(void (*)(int), a->b)", "__global__fn"},
      {"(((", ""},
      {"", ""},
  };
  for (const auto& [kernel, name] : kCases) EXPECT_EQ(qualified_name(kernel), name) << kernel;
}

TEST(KernelName, MatchesFromEndToEnd) {
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "axxbyyc"));
  EXPECT_TRUE(matches("*ab", "aab"));
  EXPECT_FALSE(matches("a*c", "abcd"));
  EXPECT_FALSE(matches("abc", "abcd"));
  EXPECT_FALSE(matches("abc", "ab"));
}

TEST(KernelRules, KnowTheKernelsOfEachLibrary) {
  struct Case {
    std::string_view kernel;
    std::string_view library;
    std::string_view purpose;
    Mode mode = Mode::none;
  };
  constexpr Case kCases[] = {
      {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "NCCL", "all_reduce"},
      {"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "NCCL", ""},
      {"ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "NCCL", "broadcast"},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL", "all_reduce"},
      {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)", "NCCL", ""},
      {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL", "reduce_scatter"},
      {"ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevComm*)", "NCCL", "reduce"},
      {"ncclSymkDevKernel_AllGather_STMC(ncclSymkDevWorkArgs4K)", "NCCL", "all_gather"},
      {"ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", "NCCL", "all_reduce"},
      {"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "RCCL", ""},
      {"mscclKernel_Sum_float_Simple_false(ncclDevComm*)", "RCCL", ""},
      {"void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)", "DeepEP", "dispatch", Mode::ep},
      {"void deep_ep::intranode::cached_notify_combine<8>(void**)", "DeepEP", "notify", Mode::ep},
      {"void deep_ep::internode_ll::combine<true, 7168, 9>(void*)", "DeepEP", "combine", Mode::ep},
      {"void dpsk::ep::internode::notify_dispatch<false, 4>(int const*, long*)", "DeepEP", "notify", Mode::ep},
      {"void dpsk::ep::internode::cached_notify<true>(int)", "DeepEP", "notify", Mode::ep},
      {"void uccl::internode_ll::dispatch<true>(int)", "UCCL", "dispatch", Mode::ep},
      {"nvshmemi_proxy_rma_entrypoint_blocking(void*, void*)", "NVSHMEM", ""},
      {"void barrier_on_stream_kernel_threadgroup<(threadgroup_t)1>(int, int)", "NVSHMEM", "barrier"},
      {"void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*)", "symmetric memory",
       "all_reduce"},
      {"_multimem_all_gather_kernel", "symmetric memory", "all_gather"},
      {"void two_shot_all_reduce_kernel<float, 4, 8>(float**)", "symmetric memory", "all_reduce"},
      {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)", "vLLM", "all_reduce"},
      {"void sglang::cross_device_reduce_2stage<__half, 8>(sglang::RankData*)", "SGLang", "all_reduce"},
      {"void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>(int)", "userbuffers", "reduce_scatter", Mode::tp},
      {"void userbuffers_fp16_sum_inplace_gpu_rr_ag<8>(int)", "userbuffers", "all_gather", Mode::tp},
      {"kuserbuffers_pushsend(int*, int*, int4*, int4*, int)", "userbuffers", "send", Mode::tp},
      {"kuserbuffers_pullrecv(int, int, int, int, int*)", "userbuffers", "receive", Mode::tp},
  };
  for (const Case& c : kCases) {
    const NameMeaning meaning = meaning_of_kernel(c.kernel);
    EXPECT_TRUE(meaning.is(KernelClass::communication)) << c.kernel;
    EXPECT_EQ(meaning.library, c.library) << c.kernel;
    EXPECT_EQ(meaning.purpose, c.purpose) << c.kernel;
    EXPECT_EQ(meaning.mode, c.mode) << c.kernel;
  }
}

// Kernel names as profilers print them, from two versions of a library if it has two.
TEST(KernelRules, KnowTheKernelNamesOfSeveralVersions) {
  yaml::Problems problems("names.yaml", {});
  const yaml::Document document = yaml::read_document(
      read_input_file(UNDERLAP_KERNEL_NAMES_FOLDER "/names.yaml", {.bytes = std::size_t{1} << 24}), problems);
  ASSERT_NE(document.root, nullptr);
  const yaml::Entry* names = yaml::find_entry(*document.root, "names");
  ASSERT_NE(names, nullptr);
  EXPECT_GT(names->value->items.size(), 400U);
  constexpr std::pair<std::string_view, KernelClass> kClasses[] = {
      {"communication", KernelClass::communication}, {"fused", KernelClass::fused}, {"copy", KernelClass::copy}};
  for (const yaml::Node* item : names->value->items) {
    const auto text = [&](const char* key) {
      const yaml::Entry* entry = yaml::find_entry(*item, key);
      return entry == nullptr ? std::string() : entry->value->text;
    };
    const std::string kernel = text("name");
    const NameMeaning meaning = meaning_of_kernel(kernel);
    const auto expected = std::ranges::find(kClasses, text("class"), &std::pair<std::string_view, KernelClass>::first);
    if (expected == std::end(kClasses)) {
      EXPECT_FALSE(meaning.says == Says::known && meaning.what != KernelClass::compute) << kernel;
      continue;
    }
    EXPECT_TRUE(meaning.is(expected->second)) << kernel;
    EXPECT_EQ(meaning.library, text("library")) << kernel;
    EXPECT_EQ(meaning.purpose, text("purpose")) << kernel;
    if (expected->second == KernelClass::communication) {
      EXPECT_EQ(meaning.mode, mode_from(text("mode")).value_or(Mode::none)) << kernel;
    }
  }
}

TEST(KernelRules, NameTheirSourceAndVersions) {
  yaml::Problems problems("kernel_names.yaml", {});
  const yaml::Document document = yaml::read_document(std::string(kernel_names_text()), problems);
  for (const yaml::Node* rule : yaml::find_entry(*document.root, "rules")->value->items)
    for (const char* key : {"library", "kernel", "class", "source", "versions"})
      EXPECT_NE(yaml::find_entry(*rule, key), nullptr) << rule->place.line << ": " << key;
}

// The build turns the file into a table, which must hold the same as the file read as a mode map.
TEST(KernelRules, EqualTheModeMapOfTheirFile) {
  const ModeMap map = parse_mode_map(std::string(kernel_names_text()), "kernel_names.yaml");
  ASSERT_EQ(map.rules.size(), known_kernels().size());
  for (std::size_t i = 0; i < map.rules.size(); ++i) {
    const ModeRule& rule = map.rules[i];
    const KnownKernel& known = known_kernels()[i];
    const std::string where(name_of(rule.reason));
    EXPECT_EQ(known.library, rule.library) << where;
    EXPECT_EQ(known.kernel, rule.kernel) << where;
    EXPECT_EQ(known.what, rule.what) << where;
    EXPECT_EQ(known.purpose, rule.purpose == kNoName ? "" : name_of(rule.purpose)) << where;
    EXPECT_EQ(known.mode, rule.mode) << where;
    EXPECT_EQ(known.why, rule.why) << where;
  }
}

TEST(KernelRules, DoNotMatchAPartOfAName) {
  constexpr std::pair<std::string_view, Says> kCases[] = {
      {"void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>::Policy>(long*)", Says::known},
      {"void cub::DispatchReduceByKey<long*>(long*)", Says::known},
      {"void cdpsk::ep::CUB_200200_NS::DeviceScanKernel<int>(int)", Says::nothing},
      {"void dpsk::ep::cuda::get_dispatch_layout<256>(long const*)", Says::known},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)", Says::known},
      {"kuserbuffers_inc(int*)", Says::known},
      {"void my_ncclKernel_AllReduce(int)", Says::looks_like_comm},
      {"void moe::expert_dispatch<8>(int)", Says::looks_like_comm},
      {"triton_poi_fused_add_0", Says::nothing},
      {"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NTT", Says::nothing},
      {"flash::flash_fwd_splitkv_combine_kernel", Says::known},
  };
  for (const auto& [kernel, says] : kCases) {
    EXPECT_EQ(meaning_of_kernel(kernel).says, says) << kernel;
    EXPECT_FALSE(meaning_of_kernel(kernel).is(KernelClass::communication)) << kernel;
  }
  EXPECT_NE(meaning_of_kernel("void dpsk::ep::cuda::get_dispatch_layout<256>(long const*)").why_not, "");
  EXPECT_EQ(meaning_of_kernel("void at::native::reduce_kernel<512>(int)").why_not, "");
}

TEST(KernelRules, GenericNamesCountOnlyWithoutANamespace) {
  EXPECT_TRUE(meaning_of_kernel("void dispatchKernel<8, true>(int*)").is(KernelClass::communication));
  for (const char* kernel : {"void graph::dispatchKernel<8, true>(int*)", "blas::Kernel_all_sum(float*)",
                             "io::p2p_copy_kernel(int)", "pool::barrier_all_threads(int)", "ml::ep_combine(int)"})
    EXPECT_FALSE(meaning_of_kernel(kernel).is(KernelClass::communication)) << kernel;
}

TEST(KernelRules, TakeCopiesBetweenDevicesOnly) {
  EXPECT_TRUE(meaning_of_copy("Memcpy PtoP (Device -> Device)").is(KernelClass::communication));
  EXPECT_EQ(meaning_of_copy("Memcpy DtoD (Device -> Device)").says, Says::device_copy);
  EXPECT_EQ(meaning_of_copy("Memset (Device)").says, Says::nothing);
}

TEST(KernelRules, ReadLaunchingAnnotations) {
  EXPECT_EQ(collective_of_annotation("nccl:_all_gather_base"), "all_gather");
  EXPECT_EQ(collective_of_annotation("nccl:send 0->1"), "send");
  EXPECT_EQ(collective_of_annotation("nccl:coalesced"), "");
  EXPECT_EQ(collective_of_annotation("ncclAllReduce"), "all_reduce");
  EXPECT_EQ(collective_of_annotation("my nccl:all_reduce"), std::nullopt);
}

TEST(GroupNames, SayTheModeOfWhatFrameworksCallTheirGroups) {
  constexpr std::pair<std::string_view, Mode> kCases[] = {
      {"DATA_PARALLEL_GROUP_WITH_CP", Mode::dp},
      {"DATA_PARALLEL_GROUP_GLOO", Mode::dp},
      {"INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", Mode::dp},
      {"EXPERT_DATA_PARALLEL_GROUP", Mode::dp},
      {"TENSOR_MODEL_PARALLEL_GROUP", Mode::tp},
      {"PIPELINE_MODEL_PARALLEL_GROUP", Mode::pp},
      {"EMBEDDING_GROUP", Mode::pp},
      {"CONTEXT_PARALLEL_GROUP", Mode::cp},
      {"HIERARCHICAL_CONTEXT_PARALLEL_GROUP_L1", Mode::cp},
      {"EXPERT_MODEL_PARALLEL_GROUP", Mode::ep},
      {"EXPERT_TENSOR_PARALLEL_GROUP", Mode::tp},
      {"MODEL_PARALLEL_GROUP", Mode::other},
      {"mesh_dp", Mode::dp},
      {"mesh_dp_shard_cp", Mode::fsdp},
      {"mesh_dp_replicate", Mode::dp},
      {"mesh_tp", Mode::tp},
      {"mesh_ep", Mode::ep},
      {"expert_data_parallel_group", Mode::dp},
      {"ep_size_8", Mode::ep},
      {"TP Group 0", Mode::tp},
      {"tp:0", Mode::tp},
      {"dp", Mode::dp},
      {"attn_tp", Mode::tp},
      {"tp_sm16_cga2", Mode::tp},
      {"pp_forward_0_1", Mode::pp},
  };
  for (const auto& [name, mode] : kCases) {
    const auto meaning = meaning_of_group(name);
    ASSERT_TRUE(meaning) << name;
    EXPECT_EQ(meaning->mode, mode) << name;
    EXPECT_GT(meaning->confidence_pct, 0) << name;
  }
}

TEST(GroupNames, SayNothingWhereTheNameSaysNothing) {
  for (const std::string_view name : {"", "undefined", "default_pg", "0", "17", "group", "world", "ptp", "tpx"})
    EXPECT_FALSE(meaning_of_group(name)) << name;
}

TEST(GroupNames, TrustMixedGroupsLess) {
  EXPECT_LT(meaning_of_group("MODEL_PARALLEL_GROUP")->confidence_pct,
            meaning_of_group("TENSOR_MODEL_PARALLEL_GROUP")->confidence_pct);
}

}  // namespace
}  // namespace underlap::attribution
