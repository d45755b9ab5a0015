"""A recursive Tree-LSTM (examples/tree_lstm.ir) beside torch in eager mode, over random trees.

    python bench/tree_lstm.py [--trees 50] [--rounds 5]

One thread. The systems take turns tree by tree; times are the sums over all trees of the best of the rounds. torch runs twice: with
each word projected at its leaf, and with all words projected together before the recursion, as the example does.
"""
import argparse
import pathlib
import tempfile
import time

import numpy as np
import torch

import pliant

ROOT = pathlib.Path(__file__).resolve().parent.parent


def random_tree(rng, leaves):
    """Arrays left, right, word and the root of a binary tree with `leaves` leaves whose shape is random."""
    left, right, word, count = [], [], [], iter(range(leaves))

    def add(size):
        if size == 1:
            node = (-1, -1, next(count))
        else:
            cut = int(rng.integers(1, size))
            node = (add(cut), add(size - cut), 0)
        for array, value in zip((left, right, word), node):
            array.append(value)
        return len(left) - 1
    root = add(leaves)
    return np.array(left), np.array(right), np.array(word), np.int64(root)


# The example's own weights, given out by a module that holds nothing else.
WEIGHTS = """func @main() {
  %0 = core.const() {value=f32[300, 450] dense<random 1>} : f32[300, 450]
  %1 = core.const() {value=f32[450] dense<random 2>} : f32[450]
  %2 = core.const() {value=f32[300, 750] dense<random 3>} : f32[300, 750]
  %3 = core.const() {value=f32[750] dense<random 4>} : f32[750]
  return %0 "w", %1 "b", %2 "u", %3 "d"
}
"""


def weights():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "weights.ir"
        path.write_text(WEIGHTS)
        w = pliant.compile(path, progress=False).run({})
    return {k: torch.from_numpy(v * np.float32(0.05) if k in "wu" else v) for k, v in w.items()}


class Eager:
    def __init__(self, weights, projects_first):
        self.w, self.b, self.u, self.d = (weights[k] for k in "wbud")
        self.projects_first = projects_first

    def node(self, k, left, right, word, x):
        if left[k] < 0:
            row = x[word[k]:word[k] + 1]
            i, o, g = (row if self.projects_first else torch.addmm(self.b, row, self.w)).chunk(3, 1)
            c = i.sigmoid() * g.tanh()
        else:
            hl, cl = self.node(left[k], left, right, word, x)
            hr, cr = self.node(right[k], left, right, word, x)
            i, o, g, fl, fr = torch.addmm(self.d, torch.cat([hl, hr], 1), self.u).chunk(5, 1)
            c = i.sigmoid() * g.tanh() + fl.sigmoid() * cl + fr.sigmoid() * cr
        return o.sigmoid() * c.tanh(), c

    def __call__(self, tree, x):
        left, right, word, root = tree
        with torch.inference_mode():
            x = torch.from_numpy(x)
            if self.projects_first:
                x = torch.addmm(self.b, x, self.w)
            return self.node(int(root), left.tolist(), right.tolist(), word.tolist(), x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    w = weights()
    exe = pliant.compile(ROOT / "examples" / "tree_lstm.ir", threads=1, progress=False)
    peers = {"torch": Eager(w, False), "torch, projecting first": Eager(w, True)}
    total, worst, leaves = dict.fromkeys(["pliant", *peers], 0.0), 0.0, 0
    for size in np.linspace(5, 60, args.trees).astype(int):
        tree, x = random_tree(rng, int(size)), rng.standard_normal((int(size), 300)).astype(np.float32)
        left, right, word, root = tree
        feed = {"root": root, "left": left, "right": right, "word": word, "x": x}
        runs = {"pliant": lambda: exe(*feed.values()), **{n: lambda e=e: e(tree, x) for n, e in peers.items()}}
        best = dict.fromkeys(runs, np.inf)
        for _ in range(args.rounds):
            results = []
            for name, run in runs.items():
                start = time.perf_counter()
                results.append(run())
                best[name] = min(best[name], time.perf_counter() - start)
        worst = max(worst, *(float(np.max(np.abs(g - w.numpy()))) for g, w in zip(results[0], results[1])))
        total = {k: total[k] + best[k] for k in total}
        leaves += size
    for name, seconds in total.items():
        print(f"{name:24} {seconds * 1e3:9.2f} ms for {args.trees} trees, {seconds / (2 * leaves - args.trees) * 1e6:7.2f} us a node, "
              f"pliant / it {total['pliant'] / seconds:.3f}")
    print(f"largest difference {worst:.1e}")


if __name__ == "__main__":
    main()
