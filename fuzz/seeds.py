"""Writes seeds for the fuzz targets: ONNX models of the backend tests, artifacts compiled from some of them, graph texts.

    python fuzz/seeds.py FOLDER      one folder a target below FOLDER
"""
import pathlib
import sys

import onnx.backend.test.loader as loader

import pliant

MAX_BYTES = 16384
EVERY = 16  # of the models, how many are compiled: one in so many


def main():
    root = pathlib.Path(sys.argv[1])
    folders = {name: root / name for name in ("onnx_import", "artifact_load", "graph_text", "loop_text", "schedule_trace")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    golden = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
    for path in golden.rglob("*.ir"):
        target = {"loop": "loop_text", "schedule": "schedule_trace"}.get(path.parent.name, "graph_text")
        text = path.read_text().split("// ---- expect")[0]
        (folders[target] / path.name).write_text(text if target == "schedule_trace" else text.split("// ----")[0])
    for index, case in enumerate(loader.load_model_tests(kind="node")):
        data = case.model.SerializeToString()
        if len(data) > MAX_BYTES:
            continue
        (folders["onnx_import"] / case.name).write_bytes(data)
        if index % EVERY:
            continue
        try:
            pliant.compile(data, progress=False).save(folders["artifact_load"] / case.name)
        except pliant.Error:
            continue  # an operator that is not supported gives no artifact
    counts = {name: len(list(folder.iterdir())) for name, folder in folders.items()}
    print(counts)


if __name__ == "__main__":
    main()
