# Case 17b: a Python process with PyTorch's pool allocator and a spawned worker. The output must not change, the launches must
# be recorded, and pool memory captured. The kernels belong to a library without source, so they are profiled and captured, and
# extracting one is refused by name.
#! needs: torch
#! launches-any: vectorized_elementwise_kernel >= 1
#! instances-any: elementwise >= 1
import multiprocessing

import torch


def work(rank):
    torch.manual_seed(rank)
    x = torch.arange(100000, device="cuda", dtype=torch.float32)
    for _ in range(4):
        x = x * 0.5 + rank
    return float(x.sum().item())


def worker(rank, queue):
    queue.put(work(rank))


if __name__ == "__main__":
    mine = work(1)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=worker, args=(2, queue))
    process.start()
    theirs = queue.get(timeout=60)
    process.join()
    print(mine, theirs)
    print("OK" if process.exitcode == 0 and theirs != mine else "WRONG")
