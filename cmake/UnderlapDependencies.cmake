# Libraries found by header and library: those of the profiler, of the gate and of backends.
include(UnderlapFind)
underlap_find(BOOST_MATH underlap::boost_math boost/math/distributions/students_t.hpp)
underlap_find(CRYPTO underlap::crypto openssl/hmac.h crypto)
underlap_find(DNNL underlap::dnnl dnnl.hpp dnnl)
underlap_find(GLOO underlap::gloo gloo/config.h gloo)
