# The CUDA backend: AUTO builds it where a toolkit is found, ON fails where none is, OFF leaves it out.
#
# Of CUDA only the runtime is linked, and statically. cuBLASLt, cuDNN, NCCL and CUPTI are needed here for their headers
# alone: programs look for the libraries when they start (platform/shared_library.hpp).
set(UNDERLAP_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO, ON or OFF")
set_property(CACHE UNDERLAP_CUDA PROPERTY STRINGS AUTO ON OFF)
set(UNDERLAP_HAS_CUDA OFF)

# underlap_cuda_is_missing(WHAT): no CUDA backend because of WHAT; an error where one was asked for.
macro(underlap_cuda_is_missing what)
  if(UNDERLAP_CUDA STREQUAL "ON")
    message(FATAL_ERROR "UNDERLAP_CUDA is ON, but ${what}")
  endif()
  message(STATUS "No CUDA backend: ${what}")
endmacro()

function(underlap_find_cuda_headers)
  set(found ON)
  foreach(header cublasLt.h cudnn.h nccl.h cupti.h nvtx3/nvToolsExt.h)
    string(MAKE_C_IDENTIFIER ${header} name)
    find_path(UNDERLAP_CUDA_${name} ${header}
              HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
    if(UNDERLAP_CUDA_${name})
      target_include_directories(underlap_cuda_headers SYSTEM INTERFACE ${UNDERLAP_CUDA_${name}})
    else()
      underlap_cuda_is_missing("the header ${header} was not found")
      set(found OFF)
    endif()
  endforeach()
  set(UNDERLAP_HAS_CUDA ${found} PARENT_SCOPE)
  # Extended payloads are in the toolkit from CUDA 13 on. Looked up beside its other headers, because the compiler might
  # find them in another release's.
  set(UNDERLAP_HAS_NVTX_PAYLOAD 0 PARENT_SCOPE)
  if(EXISTS ${UNDERLAP_CUDA_nvtx3_nvToolsExt_h}/nvtx3/nvToolsExtPayload.h)
    set(UNDERLAP_HAS_NVTX_PAYLOAD 1 PARENT_SCOPE)
  endif()
endfunction()

if(NOT UNDERLAP_CUDA STREQUAL "OFF")
  # CMake looks for the compiler on PATH; the toolkit's own folder is where it mostly is. A toolkit that was named goes
  # before any other.
  if(CMAKE_CUDA_COMPILER)
    set(UNDERLAP_NVCC ${CMAKE_CUDA_COMPILER} CACHE FILEPATH "CUDA's compiler" FORCE)
  endif()
  find_program(UNDERLAP_NVCC nvcc HINTS ${CUDAToolkit_ROOT} ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin)
  if(UNDERLAP_NVCC)
    get_filename_component(nvcc_folder ${UNDERLAP_NVCC} DIRECTORY)
    get_filename_component(CUDAToolkit_ROOT ${nvcc_folder} DIRECTORY)
    find_package(CUDAToolkit QUIET)
  endif()
  if(NOT UNDERLAP_NVCC OR NOT CUDAToolkit_FOUND)
    underlap_cuda_is_missing("no CUDA Toolkit was found")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12.4)
    underlap_cuda_is_missing("CUDA ${CUDAToolkit_VERSION} is older than 12.4")
  else()
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER ${UNDERLAP_NVCC})
    endif()
    # Most of nvcc's time is the way to PTX, which is the same text for A100 and H100 to the letter (--ptx) where a source
    # does not ask for its architecture: it is made once, and each GPU's code, and what later ones compile, from it. A
    # source that asks, by __CUDA_ARCH__ >= ..., has UNDERLAP_PTX_EACH for its COMPILE_OPTIONS, any other UNDERLAP_PTX_ONCE.
    # Where somebody chose CMAKE_CUDA_ARCHITECTURES, all have PTX of each of those.
    set(UNDERLAP_PTX_EACH -DUNDERLAP_PTX_EACH)
    set(UNDERLAP_PTX_ONCE "")
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(architectures 80 90)  # A100; H100 and H200
      if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 12.8)
        list(APPEND architectures 100)  # B200
      endif()
      foreach(architecture IN LISTS architectures)
        list(APPEND UNDERLAP_PTX_EACH "--generate-code=arch=compute_${architecture},code=[compute_${architecture},sm_${architecture}]")
      endforeach()
      list(TRANSFORM architectures PREPEND sm_)
      list(JOIN architectures "," codes)
      set(UNDERLAP_PTX_ONCE "--generate-code=arch=compute_80,code=[compute_80,${codes}]")
      set(CMAKE_CUDA_ARCHITECTURES OFF)
    endif()
    if(UNDERLAP_CCACHE)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${UNDERLAP_CCACHE})
    endif()
    add_library(underlap_cuda_headers INTERFACE)
    target_include_directories(underlap_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    underlap_find_cuda_headers()
    if(UNDERLAP_HAS_CUDA)
      enable_language(CUDA)
      # CMake 3.25 does not know that newer releases of nvcc speak C++20.
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
        set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
      endif()
    endif()
  endif()
endif()
