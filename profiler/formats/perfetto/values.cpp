// SPDX-License-Identifier: Apache-2.0
#include "profiler/formats/perfetto/values.hpp"

#include <protozero/pbf_reader.hpp>

#include "profiler/formats/perfetto/fields.hpp"

namespace underlap::formats::perfetto {

Value value_of(protozero::data_view message) {
  Value value;
  protozero::pbf_reader reader(message);
  while (reader.next()) switch (reader.tag_and_type()) {
      case number(annotation::kNameIid): value.name_iid = reader.get_uint64(); break;
      case number(annotation::kInt): value.number = reader.get_int64(); break;
      case number(annotation::kStringIid): value.string_iid = reader.get_uint64(); break;
      case bytes(annotation::kArrayValues):
      case bytes(annotation::kDictEntries): value.items.push_back(reader.get_view()); break;
      default: reader.skip();
    }
  return value;
}

}  // namespace underlap::formats::perfetto
