// SPDX-License-Identifier: Apache-2.0
// A driver without a device, as libcuda.so.1: enough for cuDNN to make a plan for a device that is only described. It
// takes whatever code is loaded, and refuses all else. cuDNN looks functions up by name, so no header is needed, and
// arguments that nobody reads are left out of the declarations.

namespace {

using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kNoDevice = 100;

char thing = 0;  // what handles point to: nobody looks

}  // namespace

extern "C" {

Result cuLibraryLoadData(void** library) {
  *library = &thing;
  return kSuccess;
}
Result cuLibraryGetKernel(void** kernel) {
  *kernel = &thing;
  return kSuccess;
}
Result cuLibraryUnload() { return kSuccess; }
Result cuKernelSetAttribute() { return kSuccess; }
Result cuKernelGetAttribute(int* value) {
  *value = 0;
  return kSuccess;
}
Result cuDriverGetVersion(int* version) {
  *version = 13'000;
  return kSuccess;
}
Result cuGetErrorName(Result, const char** name) {
  *name = "refused by the played driver";
  return kSuccess;
}
Result cuGetErrorString(Result code, const char** text) { return cuGetErrorName(code, text); }

#define UNDERLAP_REFUSED(name) \
  Result name() { return kNoDevice; }
UNDERLAP_REFUSED(cuInit)
UNDERLAP_REFUSED(cuDeviceGet)
UNDERLAP_REFUSED(cuDeviceGetCount)
UNDERLAP_REFUSED(cuDeviceGetAttribute)
UNDERLAP_REFUSED(cuDevicePrimaryCtxRetain)
UNDERLAP_REFUSED(cuDevicePrimaryCtxRelease)
UNDERLAP_REFUSED(cuDevicePrimaryCtxReset)
UNDERLAP_REFUSED(cuCtxGetCurrent)
UNDERLAP_REFUSED(cuCtxGetDevice)
UNDERLAP_REFUSED(cuCtxGetLimit)
UNDERLAP_REFUSED(cuCtxPushCurrent)
UNDERLAP_REFUSED(cuCtxPopCurrent)
UNDERLAP_REFUSED(cuStreamGetCtx)
UNDERLAP_REFUSED(cuStreamSynchronize)
UNDERLAP_REFUSED(cuLaunchKernel)
UNDERLAP_REFUSED(cuLaunchKernelEx)
UNDERLAP_REFUSED(cuLaunchCooperativeKernel)
UNDERLAP_REFUSED(cuLibraryLoadFromFile)
UNDERLAP_REFUSED(cuLinkCreate)
UNDERLAP_REFUSED(cuLinkCreate_v2)
UNDERLAP_REFUSED(cuLinkAddData)
UNDERLAP_REFUSED(cuLinkAddData_v2)
UNDERLAP_REFUSED(cuLinkAddFile_v2)
UNDERLAP_REFUSED(cuLinkComplete)
UNDERLAP_REFUSED(cuLinkDestroy)
UNDERLAP_REFUSED(cuModuleLoadData)
UNDERLAP_REFUSED(cuModuleLoadDataEx)
UNDERLAP_REFUSED(cuModuleLoadFatBinary)
UNDERLAP_REFUSED(cuModuleUnload)
UNDERLAP_REFUSED(cuModuleGetFunction)
UNDERLAP_REFUSED(cuModuleGetGlobal_v2)
UNDERLAP_REFUSED(cuFuncGetAttribute)
UNDERLAP_REFUSED(cuFuncSetAttribute)
UNDERLAP_REFUSED(cuMemcpyDtoH_v2)
UNDERLAP_REFUSED(cuTensorMapEncodeTiled)
UNDERLAP_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
UNDERLAP_REFUSED(cuOccupancyMaxPotentialClusterSize)

}  // extern "C"
