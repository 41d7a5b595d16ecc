"""What ranks tell one another with Python objects and small tensors, as many programs do before and after their steps."""
import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank, world = dist.get_rank(), dist.get_world_size()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mine = {"rank": rank, "text": "x" * (10 + 100 * rank)}

everybody = [None] * world
dist.all_gather_object(everybody, mine)
assert [e["rank"] for e in everybody] == list(range(world)), everybody
assert [len(e["text"]) for e in everybody] == [10 + 100 * r for r in range(world)]

gathered = [None] * world if rank == 0 else None
dist.gather_object(mine, gathered)
assert rank or [e["rank"] for e in gathered] == list(range(world)), gathered

told = [mine if rank == world - 1 else None, rank]
dist.broadcast_object_list(told, src=world - 1)
assert told[0]["rank"] == world - 1 and told[1] == world - 1, told

scattered = [None]
dist.scatter_object_list(scattered, [f"for {r}" for r in range(world)] if rank == 0 else None)
assert scattered == [f"for {rank}"], scattered

count = torch.tensor([rank + 1], device="cuda")
dist.all_reduce(count)
assert count.item() == world * (world + 1) // 2, count

model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.randn(8, 64, device="cuda")).sum().backward()
    optimizer.step()
dist.destroy_process_group()
