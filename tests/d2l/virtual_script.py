"""Run by test_virtual.py in a process of its own: virtual devices are for a whole process."""

from __future__ import annotations

import copy

import torch
from torch import nn

from lockstep import d2l as names

if torch.cuda.is_available():
    assert not names.virtual_devices("torch", 2)  # real ones are used
    print("real GPUs are used")
    raise SystemExit

assert names.virtual_devices("torch", 2)
from lockstep.d2l import torch as d2l  # noqa: E402

ZERO, ONE = torch.device("cuda:0"), torch.device("cuda:1")


def refused(call: object) -> bool:
    try:
        call()  # type: ignore[operator]
    except (RuntimeError, TypeError):
        return True
    return False


# --- where tensors are ---
assert d2l.try_gpu(0) == ZERO
assert d2l.try_gpu(2) == torch.device("cpu")
assert d2l.try_all_gpus() == [ZERO, ONE]
a = torch.ones(2, 3, device=ZERO)
assert a.device == ZERO
assert a.is_cuda
assert a.sum().device == a[0].device == a.T.device == torch.zeros_like(a).device == ZERO
assert [row.device for row in a] == [ZERO, ZERO]
assert "device='cuda:0'" in repr(a)
assert "device='cuda:0'" in f"{a}"
assert f"{a.mean():.1f}" == "1.0"
assert refused(lambda: torch.ones(1, device="cuda:2"))

# --- the current device ---
assert (torch.ones(1).get_device(), a.get_device()) == (-1, 0)
torch.cuda.set_device(1)
assert torch.cuda.current_device() == 1
assert torch.ones(1).cuda().device == torch.ones(1, device="cuda").device == ONE
with torch.cuda.device(0):
    assert torch.ones(1).to("cuda").device == ZERO
assert torch.cuda.current_device() == 1
assert refused(lambda: torch.cuda.set_device(2))
torch.cuda.set_device(device=ZERO)
torch.cuda.synchronize(device=ONE)

# --- copies are separate ---
b = a.to(ONE)
b += 1
assert a.eq(1).all()
assert b.device == ONE
assert a.to(ZERO) is a
assert a.to(torch.float64).device == ZERO
assert a.cpu().device.type == "cpu"
assert refused(lambda: a + b)
assert refused(lambda: a + torch.ones(3))
assert (a + torch.tensor(1.0)).device == ZERO  # a number may come from anywhere
assert refused(a.numpy)
a[:] = b  # copying is what moves data between devices
assert a.eq(2).all()
assert a.device == ZERO

# --- gradients pass between devices ---
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w.to(ONE) * 3).sum().backward()
assert w.grad.tolist() == [3.0, 3.0]
assert w.grad.device.type == "cpu"

# --- modules ---
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
alone = copy.deepcopy(net)
x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
both = nn.DataParallel(net, device_ids=[ZERO, ONE])
assert {param.device for param in both.parameters()} == {ZERO}
assert copy.deepcopy(net)[0].weight.device == ZERO
loss = nn.CrossEntropyLoss()
out = both(x.to(ZERO))
assert out.device == ZERO
torch.testing.assert_close(out.cpu(), alone(x))
loss(out, y.to(ZERO)).backward()
loss(alone(x), y).backward()
for ours, theirs in zip(net.parameters(), alone.parameters(), strict=True):
    assert ours.grad.device == ZERO
    torch.testing.assert_close(ours.grad.cpu(), theirs.grad)
torch.optim.SGD(both.parameters(), 0.1).step()
assert net[0].weight.device == ZERO
assert nn.GRU(3, 4).cuda(1)(torch.randn(5, 2, 3, device=ONE))[1].device == ONE

# --- parts of a batch ---
parts = nn.parallel.scatter(torch.arange(20).reshape(4, 5), [ZERO, ONE])
assert [part.device for part in parts] == [ZERO, ONE]
assert [part.tolist() for part in parts] == torch.arange(20).reshape(2, 2, 5).tolist()
assert nn.parallel.gather(parts, ONE).tolist() == torch.arange(20).reshape(4, 5).tolist()
assert torch.cuda.comm.reduce_add([torch.ones(2, device=d) for d in (ZERO, ONE)]).tolist() == [2, 2]
torch.cuda.synchronize()
shards = d2l.split_batch(torch.arange(6), torch.arange(6), [ZERO, ONE])
assert [shard.tolist() for shard in shards[0]] == [[0, 1, 2], [3, 4, 5]]
print("all as on GPUs")
