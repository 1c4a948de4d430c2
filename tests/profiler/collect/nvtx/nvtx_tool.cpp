// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>
#if UNDERLAP_TOOL_READS_PAYLOADS
#include <nvtx3/nvToolsExtPayload.h>
#endif

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

// A tool as NVTX knows it: a library named in NVTX_INJECTION64_PATH. It prints what it receives, and reads payloads
// with nothing but the schema that was registered.
namespace {

// Registered strings are the strings themselves.
nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(strdup(text));
}
const char* text_of(nvtxStringHandle_t handle) { return reinterpret_cast<const char*>(handle); }

nvtxDomainHandle_t create_domain(const char* name) {
  std::printf("domain %s\n", name);
  static int domain;
  return reinterpret_cast<nvtxDomainHandle_t>(&domain);
}
void destroy_domain(nvtxDomainHandle_t) { std::printf("destroyed\n"); }

#if UNDERLAP_TOOL_READS_PAYLOADS
struct Field {
  std::string name;
  std::uint64_t type;
  std::uint64_t offset;
};
struct Schema {
  std::vector<Field> fields;
  std::size_t size = 0;
};
Schema the_schema;
constexpr std::uint64_t kSchema = NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 3;

template <class Value>
Value value_at(const nvtxPayloadData_t& data, std::uint64_t offset) {
  Value value;
  std::memcpy(&value, static_cast<const char*>(data.payload) + offset, sizeof(value));
  return value;
}

void print_field(const nvtxPayloadData_t& data, const Field& field) {
  switch (field.type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
      std::printf(" %s=%" PRIu64, field.name.c_str(), value_at<std::uint64_t>(data, field.offset));
      break;
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
      std::printf(" %s=%" PRIu32, field.name.c_str(), value_at<std::uint32_t>(data, field.offset));
      break;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
      std::printf(" %s=%" PRId32, field.name.c_str(), value_at<std::int32_t>(data, field.offset));
      break;
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      std::printf(" %s=%s", field.name.c_str(), text_of(value_at<nvtxStringHandle_t>(data, field.offset)));
      break;
    default: std::printf(" %s=?", field.name.c_str());
  }
}

void print_extended(const nvtxEventAttributes_t& event) {
  if (event.payloadType != NVTX_PAYLOAD_TYPE_EXT) return;
  const auto& data = *reinterpret_cast<const nvtxPayloadData_t*>(static_cast<std::uintptr_t>(event.payload.ullValue));
  if (event.reserved0 != 1 || data.schemaId != kSchema || data.size != the_schema.size) std::printf(" WRONG");
  for (const Field& field : the_schema.fields) print_field(data, field);
}
#else
void print_extended(const nvtxEventAttributes_t&) {}
#endif

void print_payload(const nvtxEventAttributes_t& event) {
  if (event.payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) std::printf(" payload %" PRIu64, event.payload.ullValue);
  print_extended(event);
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* event) {
  std::printf("push %s", event->messageType == NVTX_MESSAGE_TYPE_REGISTERED ? text_of(event->message.registered)
                                                                            : event->message.ascii);
  print_payload(*event);
  std::printf("\n");
  return 0;
}
int pop(nvtxDomainHandle_t) {
  std::printf("pop\n");
  return 0;
}

#if UNDERLAP_TOOL_READS_PAYLOADS
std::uint64_t register_schema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  std::printf("schema %s\n", schema->name);
  the_schema.size = schema->payloadStaticSize;
  for (std::size_t i = 0; i < schema->numEntries; ++i)
    the_schema.fields.push_back({schema->entries[i].name, schema->entries[i].type, schema->entries[i].offset});
  return kSchema;
}
#endif

template <class Function>
void set(NvtxFunctionTable table, NvtxCallbackIdCore2 id, Function function) {
  *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, NVTX_CBID_CORE2_DomainDestroy, destroy_domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

#if UNDERLAP_TOOL_READS_PAYLOADS
// The header gives its types internal visibility, and a function inherits it from them.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
      reinterpret_cast<std::intptr_t>(&register_schema);
  return 1;
}
#endif
