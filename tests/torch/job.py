#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small data-parallel training job on CPUs (gloo), recorded by PyTorch's profiler: OUT/step6/rank0.json.gz, and rank1.
The handler of the Python package writes the files, and prints its line on rank 0.

usage: job.py OUT
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile, schedule

import underlap.torch

WORLD = 2
STEPS = 4


def train(rank, out):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK=str(rank), WORLD_SIZE=str(WORLD))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.GELU()) for _ in range(6)])
    model = DistributedDataParallel(model, bucket_cap_mb=0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randn(64, 256)
    record = schedule(wait=0, warmup=2, active=STEPS)
    handler = underlap.torch.handler(out)
    with profile(activities=[ProfilerActivity.CPU], schedule=record, record_shapes=True,
                 on_trace_ready=handler) as profiler:
        for _ in range(2 + STEPS):
            model(data).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    mp.start_processes(train, args=(sys.argv[1],), nprocs=WORLD, start_method="spawn")
