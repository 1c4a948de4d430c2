#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a loop of matrix products by CUDA events and by PyTorch's profiler, and writes both.

Writes kineto.json.gz (the profiler's trace) and prints "events_us" and "kernels_us": the loop by events, and the sum of
the kernels' times in the trace. Exit status 0, or 77 without PyTorch or a GPU.
"""
import gzip
import json
import sys

try:
    import torch
except ImportError as error:
    print(f"no PyTorch here: {error}")
    sys.exit(77)
if not torch.cuda.is_available():
    print("PyTorch sees no GPU")
    sys.exit(77)

PRODUCTS, SIDE = 400, 4096  # 0.2 ms each: the host is far ahead, and the gap between two is below 1 %
a = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
b = torch.randn(SIDE, SIDE, device="cuda", dtype=torch.bfloat16)
out = torch.empty_like(a)


def loop():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(PRODUCTS):
        torch.matmul(a, b, out=out)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3


for _ in range(3):
    loop()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as profile:
    events_us = loop()
profile.export_chrome_trace("kineto.json")
with open("kineto.json", "rb") as trace:
    events = json.load(trace)["traceEvents"]
    trace.seek(0)
    with gzip.open("kineto.json.gz", "wb") as packed:
        packed.write(trace.read())
kernels = [event["dur"] for event in events if event.get("cat") == "kernel"]
print(f"kernels\t{len(kernels)}")
print(f"events_us\t{events_us:.1f}")
print(f"kernels_us\t{sum(kernels):.1f}")
