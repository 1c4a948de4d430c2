// SPDX-License-Identifier: Apache-2.0
#include "profiler/collect/nvtx/nvtx_ranges.hpp"

#include <nvtx3/nvToolsExt.h>
#if UNDERLAP_HAS_NVTX_PAYLOAD
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <cstddef>
#include <unordered_map>

namespace underlap {
namespace {

// What the schema below describes, field by field.
struct Payload {
  std::uint64_t operation = 0;
  std::uint32_t number = 0;
  std::int32_t layer = -1;
  std::int32_t microbatch = -1;
  std::int32_t bucket = -1;
  std::int32_t chunk = -1;
  std::int32_t step = -1;
  nvtxStringHandle_t kind = nullptr;
  nvtxStringHandle_t mode = nullptr;
  nvtxStringHandle_t direction = nullptr;
  nvtxStringHandle_t purpose = nullptr;
};

#if UNDERLAP_HAS_NVTX_PAYLOAD
constexpr nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::size_t offset) {
  nvtxPayloadSchemaEntry_t made{};
  made.type = type;
  made.name = name;
  made.offset = offset;
  return made;
}

// The identifier of the schema; 0 where the tool reads no payloads.
std::uint64_t register_schema(nvtxDomainHandle_t domain) {
  const nvtxPayloadSchemaEntry_t entries[] = {
      entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "operation", offsetof(Payload, operation)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "number", offsetof(Payload, number)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "layer", offsetof(Payload, layer)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "microbatch", offsetof(Payload, microbatch)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "bucket", offsetof(Payload, bucket)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "chunk", offsetof(Payload, chunk)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "step", offsetof(Payload, step)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "kind", offsetof(Payload, kind)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "mode", offsetof(Payload, mode)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "direction", offsetof(Payload, direction)),
      entry(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "purpose", offsetof(Payload, purpose)),
  };
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.name = "underlap operation";
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = std::size(entries);
  schema.payloadStaticSize = sizeof(Payload);
  return nvtxPayloadSchemaRegister(domain, &schema);
}
#else
std::uint64_t register_schema(nvtxDomainHandle_t) { return 0; }
#endif

}  // namespace

struct NvtxRanges::Domain {
  nvtxDomainHandle_t handle = nullptr;
  std::uint64_t schema = 0;
  std::unordered_map<NameId, nvtxStringHandle_t> strings;

  ~Domain() { nvtxDomainDestroy(handle); }

  // A tool may refuse to register strings; the handle is null then.
  nvtxStringHandle_t string_of(NameId name) {
    const auto [found, is_new] = strings.try_emplace(name, nullptr);
    // Interned names are strings of their own, so the view ends with a zero.
    if (is_new) found->second = nvtxDomainRegisterStringA(handle, name_of(name).data());
    return found->second;
  }

  Payload payload_of(const Tag& tag, std::uint64_t operation, std::uint32_t number) {
    return {.operation = operation,
            .number = number,
            .layer = tag.layer,
            .microbatch = tag.microbatch,
            .bucket = tag.bucket,
            .chunk = tag.chunk,
            .step = tag.step,
            .kind = string_of(intern(to_string(tag.kind))),
            .mode = string_of(intern(to_string(tag.mode))),
            .direction = string_of(intern(to_string(tag.direction))),
            .purpose = string_of(tag.purpose)};
  }
};

NvtxRanges::NvtxRanges() {
  const nvtxDomainHandle_t handle = nvtxDomainCreateA("underlap");
  if (handle == nullptr) return;
  domain_ = std::make_unique<Domain>();
  domain_->handle = handle;
  domain_->schema = register_schema(handle);
}

NvtxRanges::~NvtxRanges() = default;

void NvtxRanges::open(NameId name, const Tag& tag, std::uint64_t operation, std::uint32_t number) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  if (const nvtxStringHandle_t message = domain_->string_of(name)) {
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = message;
  } else {
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name_of(name).data();
  }
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = operation;
#if UNDERLAP_HAS_NVTX_PAYLOAD
  Payload payload;
  nvtxPayloadData_t data{};
  if (domain_->schema != 0) {
    payload = domain_->payload_of(tag, operation, number);
    NVTX_PAYLOAD_EVTATTR_SET_DATA(attributes, &data, domain_->schema, &payload, sizeof(payload));
  }
#else
  static_cast<void>(tag);
  static_cast<void>(number);
#endif
  nvtxDomainRangePushEx(domain_->handle, &attributes);
}

void NvtxRanges::close() { nvtxDomainRangePop(domain_->handle); }

}  // namespace underlap
