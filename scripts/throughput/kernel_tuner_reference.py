#!/usr/bin/env python3
"""Runs Kernel Tuner on the benchmark's kernel, for comparison in the same run: brute force over the 108 configurations, compiled
by NVRTC, every result verified. Needs kernel_tuner and cupy.

    kernel_tuner_reference.py N KERNEL.cu
"""
import sys
import time
import types
import uuid

import kernel_tuner
import kernel_tuner.backends.cupy
import numpy as np

# CuPy truncates a GPU's UUID at its first zero byte, which Kernel Tuner then rejects.
kernel_tuner.backends.cupy.uuid = types.SimpleNamespace(UUID=lambda bytes: uuid.UUID(bytes=bytes[:16].ljust(16, b"\0")))

n = int(sys.argv[1])
names = ("BX", "BY", "TX", "TY", "TK")
source = "\n".join(line for line in open(sys.argv[2]).read().split("\n") if not any(line.startswith(f"#define {name} ") for name in names))
source = source.replace("__global__ void sgemm", 'extern "C" __global__ void sgemm')
i = np.arange(n * n, dtype=np.int64)
a = ((i * 7 + 3) % 29).astype(np.float32) / np.float32(29) - np.float32(0.4)
b = ((i * 11 + 5) % 31).astype(np.float32) / np.float32(31) - np.float32(0.4)
want = (a.reshape(n, n) @ b.reshape(n, n)).reshape(-1)
params = dict(BX=[8, 16, 32], BY=[8, 16], TX=[1, 2, 4], TY=[1, 2, 4], TK=[16, 32])
begin = time.time()
results, _ = kernel_tuner.tune_kernel(
    "sgemm", source, (n, n), [a, b, np.zeros(n * n, np.float32), np.int32(n)], params, block_size_names=["BX", "BY", "block_size_z"],
    grid_div_x=["BX", "TX"], grid_div_y=["BY", "TY"], answer=[None, None, want, None], atol=1e-2, lang="CUPY", quiet=True)
spent = time.time() - begin
best = min((r for r in results if isinstance(r["time"], float)), key=lambda r: r["time"])
print(f"Kernel Tuner: {len(results)} configurations in {spent:.1f} s: {len(results) / spent:.2f} per second; best {best['time'] * 1e3:.1f} us: "
      + " ".join(f"{name}={best[name]}" for name in names))
