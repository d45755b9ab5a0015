"""Writes seeds for the fuzz targets: ONNX models of the backend tests, artifacts compiled from some of them, texts of the golden tests.

    python fuzz/seeds.py FOLDER      one folder a target below FOLDER
"""
import pathlib
import sys

import onnx.backend.test.loader as loader

import pliant

MAX_BYTES = 16384
EVERY = 16  # of the models, how many are compiled: one in so many
ALWAYS = ("seq", "opt", "loop", "test_if", "scan")  # names of models that are compiled in any case: few others have lists or jumps


def main():
    root, here = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parent
    folders = {source.stem: root / source.stem for source in here.glob("*.cc")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    texts = {"graph_text": "graph", "loop_text": "loop", "host_text": "host", "schedule_trace": "schedule"}
    for target, golden in texts.items():
        for path in (here.parent / "tests" / "golden" / golden).rglob("*.ir"):
            body = path.read_text().split("\n", 1)[1].split("// ---- expect")[0]
            (folders[target] / path.name).write_text(body)
    for index, case in enumerate(loader.load_model_tests(kind="node")):
        data = case.model.SerializeToString()
        if len(data) > MAX_BYTES:
            continue
        (folders["onnx_import"] / case.name).write_bytes(data)
        if index % EVERY and not any(word in case.name for word in ALWAYS):
            continue
        try:
            pliant.compile(data, progress=False).save(folders["artifact_load"] / case.name)
        except pliant.Error:
            continue  # an operator that is not supported gives no artifact
    counts = {name: len(list(folder.iterdir())) for name, folder in folders.items()}
    print(counts)


if __name__ == "__main__":
    main()
