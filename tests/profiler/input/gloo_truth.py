#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reference figures for CPU traces of PyTorch jobs on gloo, written without any code of Underlap.

usage: gloo_truth.py [--communications] RANK_FILE...     (torch.profiler Chrome JSON, plain or .gz, one file per rank)

Prints JSON: figures for each rank and step, and with --communications each communication with its members.
Times are integers in nanoseconds until they are printed, as microseconds. Definitions, inside one ProfilerStep row:
  compute   union of the aten rows of the main and autograd threads, without the wait_tensor rows inside them
  comm      union of the gloo spans; exposed: comm without compute; hidden: comm during compute; idle: neither
  wait      of a member: from its start until the last member starts; transfer: the rest of its span
  exposed_transfer: exposed while at least one communication of the rank transfers; exposed_wait: the rest of exposed
A span starts when a worker thread takes the work from its group's queue, and ends when the work is done.
"""
import gzip
import itertools
import json
import math
import sys
from collections import defaultdict
from decimal import Decimal

# Operator that enqueues the work -> (what it does, the name of gloo's span). Gloo has no reduce-scatter: it reduces
# a copy of the whole input on all ranks, so only the operator shows what was asked for.
OPERATORS = {
    "c10d::allreduce_": ("all_reduce", "gloo:all_reduce"),
    "c10d::allreduce_coalesced_": ("all_reduce", "gloo:all_reduce"),
    "c10d::allgather_": ("all_gather", "gloo:all_gather"),
    "c10d::_allgather_base_": ("all_gather", "gloo:all_gather"),
    "c10d::allgather_into_tensor_coalesced_": ("all_gather", "gloo:all_gather"),
    "c10d::_reduce_scatter_base_": ("reduce_scatter", "gloo:all_reduce"),
    "c10d::reduce_scatter_tensor_coalesced_": ("reduce_scatter", "gloo:all_reduce"),
    "c10d::alltoall_base_": ("all_to_all", "gloo:all_to_all"),
    "c10d::broadcast_": ("broadcast", "gloo:broadcast"),
    "c10d::barrier": ("barrier", "gloo:barrier"),
}
# All others end on each member only after all members have started.
NOT_SYNCHRONIZING = {"broadcast"}
BYTES = {"float": 4, "double": 8, "long int": 8, "c10::BFloat16": 2, "c10::Half": 2, "unsigned char": 1}


# Sets of intervals: sorted lists of disjoint (start, end).
def union(intervals):
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > start:
            merged.append([start, end])
    return merged


def clip(intervals, start, end):
    return [[max(a, start), min(b, end)] for a, b in intervals if a < end and b > start]


def minus(first, second):
    rest = []
    for start, end in first:
        for a, b in clip(second, start, end):
            if a > start:
                rest.append([start, a])
            start = b
        if start < end:
            rest.append([start, end])
    return rest


def length(intervals):
    return sum(b - a for a, b in intervals)


def us(ns):
    return round(ns / 1000, 3)


def shape(row):
    """The dimensions of all tensors of a row, flat: [[[512]], [], []] and [[512]] are both ((512,),)."""
    def tensors(part):
        if part and all(isinstance(n, int) for n in part):
            return (tuple(part),)
        return tuple(found for inner in part for found in tensors(inner))

    return tensors(row["args"].get("Input Dims", []))


class Rank:
    """What one file holds."""

    def __init__(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
            trace = json.load(file, parse_float=Decimal)
        info = trace["distributedInfo"]
        self.rank = info["rank"]
        # The groups of this rank in the order in which the program made them.
        self.groups = [(g["pg_desc"], tuple(g["ranks"])) for g in info["pg_config"] if len(g["ranks"]) > 1]
        base = int(trace.get("baseTimeNanoseconds", 0))
        rows = [r for r in trace["traceEvents"] if r.get("ph") == "X" and r.get("cat") in ("cpu_op", "user_annotation")]
        for row in rows:
            row["start"] = base + int(Decimal(row["ts"]) * 1000)
            row["end"] = row["start"] + int(Decimal(row["dur"]) * 1000)
            row["span"] = (row["start"], row["end"])
        rows.sort(key=lambda r: (r["start"], -r["end"]))

        step_rows = [r for r in rows if r["name"].startswith("ProfilerStep#")]
        self.steps = {int(r["name"].split("#")[1]): r["span"] for r in step_rows}
        main = {r["tid"] for r in step_rows}
        autograd = {r["tid"] for r in rows if r["name"].startswith("autograd::engine::evaluate_function")}
        spans = [r for r in rows if r["name"].startswith("gloo:") and r["tid"] not in main]
        workers = {r["tid"] for r in spans}
        # An aten operator on the result of a collective waits inside itself (DTensor): that part is not compute.
        self.compute = []
        for tid in (main | autograd) - workers:
            aten = [r["span"] for r in rows if r["tid"] == tid and r["name"].startswith("aten::")]
            waits = [r["span"] for r in rows if r["tid"] == tid and "c10d_functional::wait_tensor" in r["name"]]
            self.compute += minus(union(aten), union(waits))
        self.compute = union(self.compute)

        self.is_ddp = any(r["name"] == "DistributedDataParallel.forward" for r in rows)
        fsdp = union(r["span"] for r in rows if r["name"].startswith("FSDP::"))
        operators = [r for r in rows if r["name"] in OPERATORS and r["tid"] not in workers]
        for operator in operators:
            operator["in_fsdp"] = bool(clip(fsdp, operator["start"], operator["start"] + 1))
        self.ignored = sum(r["name"].startswith("gloo:") for r in rows) - len(spans)  # sends and receives
        self.pools = self.join(operators, spans)

    def join(self, operators, spans):
        """Joins spans and operators. Returns the (operator, span) pairs of each group's worker threads, in order.

        A group has its own worker threads and one queue, which is first in, first out. So the k-th operator of a group
        is the k-th span that starts on its threads. No row names the group: threads that run the same kind of work
        (name and shape) are taken as one group's, and operators follow the kind of work."""
        kinds = defaultdict(set)
        for span in spans:
            kinds[span["tid"]].add((span["name"], shape(span)))
        pools = []  # [threads, kinds]
        for tid in sorted(kinds):
            joined = [[tid], set(kinds[tid])]
            for pool in [p for p in pools if p[1] & joined[1]]:
                joined = [pool[0] + joined[0], pool[1] | joined[1]]
                pools.remove(pool)
            pools.append(joined)
        pools.sort(key=lambda pool: min(pool[0]))  # the order in which the groups were made
        pairs, taken = [], 0
        for tids, work in pools:
            own_spans = [s for s in spans if s["tid"] in tids]
            # The tensor of the span is the operator's only one, its input, or (all-gather) the smaller one.
            own_operators = [o for o in operators if any(
                name == OPERATORS[o["name"]][1] and set(dims) <= set(shape(o)) for name, dims in work)]
            taken += len(own_operators)
            pairs.append(list(zip(own_operators, own_spans)))
            if len(own_spans) != len(own_operators) or any(
                    s["name"] != OPERATORS[o["name"]][1] or not set(shape(s)) <= set(shape(o)) or
                    s["start"] < o["start"] for o, s in pairs[-1]):
                sys.exit(f"rank {self.rank}: the spans of threads {tids} do not follow their operators")
        if taken != len(operators):
            sys.exit(f"rank {self.rank}: operators of several groups have the same shape, or have no span")
        return pairs

    def mode(self, group, operator):
        if group.startswith("mesh_"):
            return group[len("mesh_"):]
        if operator["in_fsdp"]:
            return "fsdp"
        return "dp" if self.is_ddp and OPERATORS[operator["name"]][0] == "all_reduce" else "unattributed"

    def step_of(self, start):
        return next((n for n, (a, b) in self.steps.items() if a <= start < b), None)


def match(ranks, choice):
    """The communications of all ranks, if pool i belongs to group choice[i]; and how many of them are impossible."""
    communications = defaultdict(dict)
    for r in ranks:
        for pool, index in zip(r.pools, choice):
            for sequence, (operator, span) in enumerate(pool):
                communications[r.groups[index] + (sequence,)][r.rank] = (r, operator, span)
    impossible = 0
    for (_, members, _), found in communications.items():
        kinds = {(o["name"], shape(o), r.step_of(o["start"])) for r, o, _ in found.values()}
        last = max(span["start"] for _, _, span in found.values())
        first_end = min(span["end"] for _, _, span in found.values())
        synchronizes = not any(OPERATORS[o["name"]][0] in NOT_SYNCHRONIZING for _, o, _ in found.values())
        impossible += set(found) != set(members) or len(kinds) > 1 or (synchronizes and first_end < last)
    return communications, impossible


def main(arguments):
    paths = [a for a in arguments if not a.startswith("-")]
    if not paths:
        sys.exit(__doc__)
    ranks = sorted((Rank(path) for path in paths), key=lambda r: r.rank)
    # Worker threads are made with their group, so their ids have the order of the groups. Groups without
    # communication show no threads. The right choice is the only one that no end before a last start contradicts.
    choices = itertools.combinations(range(len(ranks[0].groups)), len(ranks[0].pools))
    tried = {choice: match(ranks, choice) for choice in choices}
    fitting = [choice for choice in tried if tried[choice][1] == 0]
    if len(fitting) != 1:
        sys.exit(f"{len(fitting)} ways to give groups to threads: { {c: t[1] for c, t in tried.items()} }")
    origin = min(start for r in ranks for start, _ in r.steps.values())

    output = {"clock_origin_ns": origin, "threads_fit": [
        {"groups": [ranks[0].groups[i][0] for i in c], "impossible": t[1], "of": len(t[0])} for c, t in tried.items()],
        "ignored_point_to_point": sum(r.ignored for r in ranks), "rank_steps": []}
    listed = []
    spans = defaultdict(list)  # by rank: (step, mode, group, collective, bytes, span, transfer)
    for (group, members, sequence), found in sorted(tried[fitting[0]][0].items()):
        arrival = max(span["start"] for _, _, span in found.values())
        described = {}
        for rank, (r, operator, span) in sorted(found.items()):
            collective, mode = OPERATORS[operator["name"]][0], r.mode(group, operator)
            types = [t for t in span["args"].get("Input type", []) if t]
            size = sum(math.prod(dims) for dims in shape(span)) * BYTES.get(types[0], 1) if types else None
            if size is not None and collective == "all_gather":
                size *= len(members)  # the whole output; the span has the input
            step = r.step_of(operator["start"])
            transfer = (min(max(arrival, span["start"]), span["end"]), span["end"])
            spans[rank].append((step, mode, group, collective, size, span["span"], transfer))
            described[rank] = {
                "thread": span["tid"], "enqueue_us": us(operator["start"] - origin),
                "start_us": us(span["start"] - origin), "end_us": us(span["end"] - origin),
                "wait_us": us(transfer[0] - span["start"]), "transfer_us": us(transfer[1] - transfer[0])}
        listed.append({"group": group, "ranks": members, "sequence": sequence, "step": step, "mode": mode,
                       "collective": collective, "gloo_name": span["name"], "operator": operator["name"],
                       "bytes": size, "last_arrival_us": us(arrival - origin), "members": described})

    def parts(own, compute, start, end):
        comm = clip(union(s[5] for s in own), start, end)
        exposed = minus(comm, compute)
        in_transfer = length(exposed) - length(minus(exposed, union(s[6] for s in own)))
        return {"comm_us": us(length(comm)), "exposed_us": us(length(exposed)),
                "hidden_us": us(length(comm) - length(exposed)),
                "exposed_wait_us": us(length(exposed) - in_transfer), "exposed_transfer_us": us(in_transfer)}

    for r in ranks:
        for step, (start, end) in sorted(r.steps.items()):
            own, compute = spans[r.rank], clip(r.compute, start, end)
            ending = [s for s in own if start < s[5][1] <= end]
            row = {
                "rank": r.rank, "step": step, "step_us": us(end - start), "compute_us": us(length(compute)),
                **parts(own, compute, start, end),
                "idle_us": us(end - start - length(union(compute + clip(union(s[5] for s in own), start, end)))),
                "spans_wait_us": us(sum(s[6][0] - s[5][0] for s in ending)),  # sums over spans, which may overlap
                "spans_transfer_us": us(sum(s[6][1] - s[6][0] for s in ending)),
                "crossing_spans": sum(s[5][0] < edge < s[5][1] for s in own for edge in (start, end))}
            row["modes"] = {m: {"count": sum(s[1] == m for s in ending),
                                **parts([s for s in own if s[1] == m], compute, start, end)}
                            for m in sorted({s[1] for s in ending})}
            row["collectives"] = {}
            for key in sorted({s[1:4] for s in ending}):
                some = [s for s in ending if s[1:4] == key]
                row["collectives"][" ".join(key)] = {
                    "count": len(some), "time_us": us(sum(s[5][1] - s[5][0] for s in some)),
                    "bytes": sum(s[4] for s in some) if all(s[4] is not None for s in some) else None}
            output["rank_steps"].append(row)
    if "--communications" in arguments:
        output["communications"] = listed
    json.dump(output, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
