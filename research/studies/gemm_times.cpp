// SPDX-License-Identifier: Apache-2.0
#include "research/studies/gemm_times.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "impl/device/sim/cost_model.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm_fp8/gemm_fp8.hpp"
#include "research/studies/study_reader.hpp"

namespace underlap::bench {
namespace {

using sim::Section;

constexpr sim::Range kSide{.low = 1, .high = 1 << 24, .whole = true};

/// Views of tensors that exist by name alone.
class Views {
 public:
  View matrix(DataType dtype, std::int64_t rows, std::int64_t cols) {
    return underlap::matrix({++id_, dtype, rows * cols}, rows, cols);
  }

 private:
  std::uint32_t id_ = 0;
};

class TableReader {
 public:
  explicit TableReader(yaml::Problems& problems) : reader_(problems), problems_(problems) {}

  std::vector<GemmTable> read(const yaml::Node& root) {
    std::vector<GemmTable> tables;
    for (const yaml::Node* item : reader_.items(root, "gemm_times", "tables")) tables.push_back(read_table(*item));
    reader_.check_names(root, "table", tables);
    return tables;
  }

 private:
  GemmTable read_table(const yaml::Node& node) {
    Section section(node, "a table", problems_);
    GemmTable table{.name = reader_.text(section, "name"),
                    .hardware = reader_.text(section, "hardware"),
                    .dtype = one_of(section, "dtype", kDtypeNames),
                    .operands = one_of(section, "operands", kOperandNames),
                    .timing = one_of(section, "timing", kTimingNames),
                    .use = one_of(section, "use", kUseNames),
                    .source = reader_.text(section, "source"),
                    .points = {}};
    if (const auto* points = section.get("points"))
      for (const yaml::Node* item : sim::read_list(*points, "points", problems_))
        table.points.push_back(read_point(*item, table.dtype));
    section.finish();
    check_hardware(node, table);
    return table;
  }

  template <class Enum, std::size_t kCount>
  Enum one_of(Section& section, std::string_view key, const EnumNames<Enum, kCount>& names) {
    const auto* node = section.get(key);
    const auto found = node == nullptr ? std::nullopt : names.find(node->text);
    if (node != nullptr && !found)
      problems_.add(node->place,
                    fmt::format("{} is {}, must be {}", key, yaml::describe(*node), fmt::join(names.names, " or ")));
    return found.value_or(Enum{});
  }

  // {m: 4096, n: 4096, k: 4096, tflops: 687}
  GemmPoint read_point(const yaml::Node& node, Precision dtype) {
    Section section(node, "a point", problems_);
    const auto side = [&](std::string_view key) {
      return static_cast<std::int64_t>(reader_.number(section.get(key), key, kSide));
    };
    GemmPoint point{.m = side("m"), .n = side("n"), .k = side("k")};
    point.tflops = reader_.number(section.get("tflops"), "tflops", sim::kRate);
    section.finish();
    try {
      gemm_cost(dtype, point);
    } catch (const std::invalid_argument& refused) {
      problems_.add(node.place, refused.what());
    }
    return point;
  }

  void check_hardware(const yaml::Node& node, const GemmTable& table) {
    if (!reader_.check_hardware(node, table.hardware)) return;
    if (table.dtype == Precision::fp8 && !sim::load_hardware(table.hardware).kernels.gemm_fp8)
      problems_.add(node.place, fmt::format("{} has no fp8 GEMM", table.hardware));
  }

  StudyReader reader_;
  yaml::Problems& problems_;
};

}  // namespace

Cost gemm_cost(Precision dtype, const GemmPoint& point) {
  Views views;
  const auto& [m, n, k, tflops] = point;
  const View product = views.matrix(DataType::bf16, m, n);
  if (dtype == Precision::bf16)
    return kernels::gemm_fprop(views.matrix(DataType::bf16, m, k), views.matrix(DataType::bf16, n, k), product).cost();
  return kernels::gemm_fp8({.a = views.matrix(DataType::f8e4m3, m, k),
                            .a_inverse_scale = views.matrix(DataType::f32, 1, 1),
                            .b = views.matrix(DataType::f8e4m3, n, k),
                            .b_inverse_scale = views.matrix(DataType::f32, 1, 1),
                            .c = product})
      .cost();
}

std::vector<GemmTable> parse_gemm_tables(const std::string& yaml, const std::string& where) {
  return read_study(yaml, where,
                    [](const yaml::Node& root, yaml::Problems& problems) { return TableReader(problems).read(root); });
}

std::vector<GemmRow> compare_gemm_times(const std::vector<GemmTable>& tables) {
  std::vector<GemmRow> rows;
  for (const GemmUse use : {GemmUse::held_against, GemmUse::made_from})
    for (const GemmTable& table : tables) {
      if (table.use != use) continue;
      const sim::CostModel model(sim::load_hardware(table.hardware));
      for (const GemmPoint& point : table.points)
        rows.push_back({&table, point, model.kernel(gemm_cost(table.dtype, point)).alone_ns / 1000});
    }
  return rows;
}

}  // namespace underlap::bench
