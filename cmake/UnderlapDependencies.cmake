# Libraries found by header and library: those of the profiler, and those of backends.
include(UnderlapFind)
underlap_find(DNNL underlap::dnnl dnnl.hpp dnnl)
underlap_find(GLOO underlap::gloo gloo/config.h gloo)
