"""Random graphs over symbolic shapes beside onnxruntime: several shapes from one compilation, the sizes 1 and 0 among them."""
import numpy as np
import onnxruntime
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import models
import pliant

UNARY = ["Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Exp", "Erf", "Floor", "Softplus", "HardSwish"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]
REDUCE = ["ReduceSum", "ReduceMean", "ReduceMax"]


class Builder:
    """Tensors of rank 3 over [n, m, 6] and shapes that broadcast to it."""

    def __init__(self, draw):
        self.draw, self.g = draw, models.Graph(draw(st.integers(0, 1000)))
        self.full = ["x", "z"]  # values of shape [n, m, 6]

    def pick(self):
        return self.draw(st.sampled_from(self.full))

    def unary(self):
        return self.g(self.draw(st.sampled_from(UNARY)), self.pick())

    def binary(self):
        other = self.draw(st.sampled_from([self.pick(), self.g.weight(6, scale=1.0), "row", self.g.weight(1, 1, 1, scale=1.0)]))
        pair = [self.pick(), other]
        return self.g(self.draw(st.sampled_from(BINARY)), *(pair if self.draw(st.booleans()) else pair[::-1]))

    def reduce(self):
        op, axis = self.draw(st.sampled_from(REDUCE)), self.draw(st.sampled_from([-1, 1, 2]))
        axes = [self.g.constant(np.array([axis], np.int64))] if op == "ReduceSum" else []
        attributes = {} if axes else {"axes": [axis]}
        return self.g("Add", self.pick(), self.g("Tanh", self.g(op, self.pick(), *axes, keepdims=1, **attributes)))

    def softmax(self):
        return self.g("Softmax", self.pick(), axis=self.draw(st.sampled_from([-1, 1])))

    def matmul(self):
        return self.g("MatMul", self.pick(), self.g.weight(6, 6))

    def attention(self):
        scores = self.g("MatMul", self.pick(), self.g("Transpose", self.pick(), perm=[0, 2, 1]))
        return self.g("MatMul", self.g("Softmax", scores, axis=-1), self.pick())

    def move(self):
        flat = self.g("Reshape", self.g("Transpose", self.pick(), perm=[1, 0, 2]), self.g.constant(np.array([0, -1, 3], np.int64)))
        back = self.g("Reshape", flat, self.g.constant(np.array([0, -1, 6], np.int64)))
        return self.g("Transpose", back, perm=[1, 0, 2])

    def halves(self):
        one, two = self.g("Split", self.pick(), self.g.constant(np.array([2, 4], np.int64)), axis=2, outputs=2)
        return self.g("Concat", two, one, axis=2)

    def where(self):
        return self.g("Where", self.g("Greater", self.pick(), self.pick()), self.pick(), self.pick())


STEPS = [Builder.unary, Builder.binary, Builder.reduce, Builder.softmax, Builder.matmul, Builder.attention, Builder.move, Builder.halves,
         Builder.where]


@st.composite
def graphs(draw):
    b = Builder(draw)
    for step in draw(st.lists(st.sampled_from(STEPS), min_size=2, max_size=9)):
        value = step(b)
        # Bounded, so that differences stay comparable.
        b.full.append(b.g("Clip", value, b.g.constant(np.float32(-8)), b.g.constant(np.float32(8))))
    b.g("Identity", b.full[-1], name="y")
    f32 = models.F32
    return b.g.model([("x", f32, ["n", "m", 6]), ("z", f32, ["n", "m", 6]), ("row", f32, ["m", 6])], [("y", f32, ["n", "m", 6])])


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_parity_at_every_shape(model):
    exe = pliant.compile(model, progress=False, check_passes=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    known = {i.name for i in session.get_inputs()}
    rng = np.random.default_rng(0)
    for n, m in [(2, 3), (1, 1), (5, 16), (3, 33), (0, 4)]:
        feed = {"x": rng.standard_normal((n, m, 6)), "z": rng.standard_normal((n, m, 6)), "row": rng.standard_normal((m, 6))}
        feed = {k: v.astype(np.float32) for k, v in feed.items() if k in known}
        got = exe.run(feed)["y"]
        assert got.shape == (n, m, 6)
        if n:
            np.testing.assert_allclose(got, session.run(None, feed)[0], rtol=2e-4, atol=2e-4)
