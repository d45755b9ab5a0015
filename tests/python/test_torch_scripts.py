"""Scripted torch modules with loops, branches and lists, exported to ONNX, beside torch itself: natively and as bytecode."""
import io
from typing import List, Tuple

import numpy as np
import pytest

import pliant

torch = pytest.importorskip("torch", reason="torch is not installed: what its exporter writes is not tested")
pytest.importorskip("onnx")
Tensor = torch.Tensor


class Alternate(torch.nn.Module):
    """A counted loop whose branches depend on the iteration."""

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = x
        for i in range(n):
            if i % 2 == 0:
                y = y + x[i % x.size(0)]
            else:
                y = y * 0.5
        return y


class Collect(torch.nn.Module):
    """A list that grows in a loop, stacked at its end."""

    def forward(self, x: Tensor) -> Tensor:
        out: List[Tensor] = []
        s = torch.zeros(x.size(1))
        for i in range(x.size(0)):
            s = torch.tanh(s + x[i])
            out.append(s)
        return torch.stack(out)


class Until(torch.nn.Module):
    """A loop that data end."""

    def forward(self, x: Tensor, limit: float) -> Tuple[Tensor, Tensor]:
        k = torch.zeros(1, dtype=torch.int64)
        while bool(x.sum() < limit):
            x = x * 1.5 + 0.1
            k = k + 1
        return x, k


class Break(torch.nn.Module):
    """A tensor that grows by prefixes of growing length until data end it."""

    def forward(self, x: Tensor) -> Tensor:
        y = x[:0]
        for i in range(x.size(0)):
            y = torch.cat([y, x[:i + 1].sum(0, keepdim=True)], 0)
            if bool(y.sum() > 10):
                break
        return y


class Cell(torch.nn.Module):
    """A recurrent cell that feeds itself."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.cell, self.out = torch.nn.LSTMCell(4, 5), torch.nn.Linear(5, 4)

    def forward(self, x: Tensor, n: int) -> Tensor:
        h, c = torch.zeros(x.size(0), 5), torch.zeros(x.size(0), 5)
        outs: List[Tensor] = []
        for i in range(n):
            h, c = self.cell(x, (h, c))
            x = self.out(h)
            outs.append(x)
        return torch.cat(outs, 1)


class Shapes(torch.nn.Module):
    """Branches over sizes, and a loop over the size of what it carries."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            if x.size(0) > 2:
                y = x.sum(1)
            else:
                y = x[0]
        else:
            y = x.flatten()
        z = torch.zeros(0)
        while z.size(0) < y.size(0) * 2:
            z = torch.cat([z, y[:1], y])
        return z


class InPlace(torch.nn.Module):
    """Rows written one after the other, by nested loops."""

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = torch.zeros_like(x)
        for i in range(x.size(0)):
            for j in range(n):
                y[i] = y[i] + x[i] * float(j)
        return y


class Kept(torch.nn.Module):
    """A loop as long as data say, over what data select."""

    def forward(self, x: Tensor) -> Tensor:
        y = x[torch.nonzero(x[:, 0] > 0).squeeze(1)]
        total = torch.zeros(1, x.size(1))
        for i in range(y.size(0)):
            total = torch.cat([total, total[-1:] + y[i:i + 1]])
        return total


def rows(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32))


CASES = [
    (Alternate, [(rows(3, 3), 2), (rows(2, 2), 0), (rows(4, 4), 7)]),
    (Collect, [(rows(3, 2),), (rows(1, 4),), (rows(9, 3),)]),
    (Until, [(torch.ones(3, 2), 30.0), (torch.ones(2, 1), 1.0)]),
    (Break, [(rows(3, 2),), (rows(12, 3).abs(),), (rows(1, 1),)]),
    (Cell, [(rows(2, 4), 3), (rows(1, 4), 1), (rows(5, 4), 6)]),
    (Shapes, [(rows(3, 2),), (rows(2, 4),), (rows(1, 1),)]),
    (InPlace, [(rows(3, 2), 3), (rows(2, 4), 0), (rows(1, 1), 2)]),
    (Kept, [(rows(3, 2),), (rows(20, 4),), (-rows(4, 1).abs(),)]),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module, calls", CASES, ids=[module.__name__ for module, _ in CASES])
def test_script(module, calls):
    model, names = module().eval(), ["x", "n"][:len(calls[0])]
    exported = io.BytesIO()
    torch.onnx.export(torch.jit.script(model), calls[0], exported, input_names=names, opset_version=17, dynamo=False,
                      dynamic_axes={"x": {0: "rows", 1: "columns"}} if module is not Cell else {"x": {0: "rows"}})
    for native in (True, False):
        exe = pliant.compile(exported.getvalue(), native_loops=native, check_passes=True)
        for call in calls:
            want = model(*call)
            want = want if isinstance(want, tuple) else (want,)
            feed = {}
            for spec, value in zip(exe.inputs, call):
                feed[spec.name] = np.asarray(value, dtype=spec.dtype)
            got = exe.run(feed)
            got = list(got.values()) if isinstance(got, dict) else got
            assert len(got) == len(want)
            for a, b in zip(got, want):
                assert a.shape == tuple(b.shape)
                np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-4, atol=1e-5)
