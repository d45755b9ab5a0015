"""How long models take to compile, and how that grows with them.

    ./dev compile-times [operators] [graphs] [bombs] [--only TEXT] [--sizes 10,100,1000,10000] [--levels 0,3]
                        [--targets native,x86-64-v3] [--limit SECONDS] [--json FILE]

operators  every model of the ONNX backend's node tests and some attribute settings more (bench/operator_models.py), with the sizes
           that they have and with every size open
graphs     chains, diamonds, trees, wide and deep graphs (bench/compile_graphs.py) of each size; the exponent of growth is that from
           100 nodes to the most, and has to be 1.2 at most
bombs      small models that ask for much (bench/compile_bombs.py)

Times are of one processor, in seconds. Fails where a model takes more than the limit (2 s for operators and bombs; graphs have only their
exponent), crashes or is not compiled, or an exponent is too large. A model that Pliant refuses with a diagnostic is shown as such.
"""

import argparse
import json
import math
import pathlib
import sys

import numpy as np
import onnx

import pliant

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]
from compile_bombs import BOMBS  # noqa: E402
from compile_graphs import GRAPHS  # noqa: E402
from guarded import Worker  # noqa: E402
from operator_models import operator_models  # noqa: E402

LIMIT, HANG, ADDRESS_SPACE = 2.0, 100.0, 8192
MOST_GROWTH = 1.2


def compile_one(job):
    """ "" or the diagnostic's id and message."""
    model, options = job
    try:
        pliant.compile(model, progress=False, **options)
        return ""
    except pliant.Error as e:
        return f"{type(e).__name__}: {e}"


class Report:
    def __init__(self, args):
        self.args, self.bad, self.rows = args, [], []
        self.out = open(args.json, "a") if args.json else None
        self.worker = Worker(compile_one, args.hang, ADDRESS_SPACE)

    def measure(self, kind, name, model, level, target, limit):
        outcome = self.worker.call((model, {"opt_level": level, "target": target}))
        row = {
            "kind": kind,
            "model": name,
            "level": level,
            "target": target,
            "seconds": round(outcome.seconds, 3),
            "mib": round(outcome.mib, 1),
            "bytes": len(model),
            "fault": outcome.fault,
            "refused": outcome.result or "",
        }
        self.rows.append(row)
        if self.out:
            print(json.dumps(row), file=self.out, flush=True)
        late = limit is not None and outcome.seconds > limit
        if outcome.fault or late or "InternalError" in row["refused"]:
            self.bad.append(
                f"{kind} {name}, level {level}, {target}: {outcome.fault or row['refused'][:100]} {outcome.seconds:.2f} s"
            )
        return row

    def show(self, row, always):
        if not always and row["seconds"] <= self.args.show and not row["fault"]:
            return
        note = row["fault"] or row["refused"].split("\n")[0][:90]
        print(
            f"{row['kind']:9} {row['model']:44} {row['target']:10} level {row['level']}  {row['seconds']:8.3f} s  {row['mib']:8.1f} MiB  "
            f"{row['bytes']:8} B  {note}",
            flush=True,
        )


def settings(args):
    return [(level, target) for target in args.targets for level in args.levels]


def measure_operators(report, args):
    for name, model in operator_models():
        if args.only in name:
            for level, target in settings(args):
                report.show(report.measure("operator", name, model, level, target, args.limit), args.all)


def measure_bombs(report, args):
    for name, make in BOMBS.items():
        if args.only in name:
            model = make().SerializeToString()
            for level, target in settings(args):
                report.show(report.measure("bomb", name, model, level, target, args.limit), True)


def exponent(times):
    """Of growth from 100 nodes, or the fewest, to the most."""
    sizes = sorted(n for n in times if n >= 100)
    if len(sizes) < 2 or min(times[sizes[0]], times[sizes[-1]]) <= 0:
        return math.nan
    return math.log(times[sizes[-1]] / times[sizes[0]]) / math.log(sizes[-1] / sizes[0])


def measure_graphs(report, args):
    for name, make in GRAPHS.items():
        if args.only not in name:
            continue
        for level, target in settings(args):
            times, notes = {}, set()
            for n in args.sizes:
                row = report.measure("graph", name, make(n).SerializeToString(), level, target, None)
                times[n] = row["seconds"]
                notes.add(row["fault"] or row["refused"].split("\n")[0][:90])
                if row["fault"]:
                    break
            growth = exponent(times)
            shown = "  ".join(f"{n}: {t:7.3f} s" for n, t in times.items())
            note = f"{row['mib']:.0f} MiB  {' '.join(filter(None, notes))}"
            print(f"graph     {name:28} {target:10} level {level}  {shown}  exponent {growth:.2f}  {note}", flush=True)
            if growth > MOST_GROWTH:
                report.bad.append(f"graph {name}, level {level}, {target}: exponent {growth:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=["operators", "graphs", "bombs", []])
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=[10, 100, 1000, 10000])
    parser.add_argument("--levels", type=lambda text: [int(n) for n in text.split(",")], default=[0, 3])
    parser.add_argument("--targets", type=lambda text: text.split(","), default=["native"])
    parser.add_argument("--limit", type=float, default=LIMIT)
    parser.add_argument("--hang", type=float, default=HANG, help="a compilation is ended after so many seconds")
    parser.add_argument("--show", type=float, default=0.5, help="operators that take longer are listed")
    parser.add_argument("--all", action="store_true", help="list every operator")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    report = Report(args)
    kinds = args.kinds or ["operators", "graphs", "bombs"]
    for kind, measure in (("operators", measure_operators), ("bombs", measure_bombs), ("graphs", measure_graphs)):
        if kind in kinds:
            measure(report, args)
    report.worker.stop()
    for kind in dict.fromkeys(row["kind"] for row in report.rows):
        rows = [row for row in report.rows if row["kind"] == kind and not row["fault"]]
        if rows:
            times = np.array([row["seconds"] for row in rows])
            slowest = rows[int(times.argmax())]
            print(
                f"{kind}: {len(rows)} compilations, median {np.median(times):.3f} s, the longest {times.max():.2f} s ({slowest['model']}), "
                f"{sum(bool(row['refused']) for row in rows)} refused"
            )
    if report.bad:
        raise SystemExit("too slow or broken:\n" + "\n".join(report.bad))


if __name__ == "__main__":
    main()
