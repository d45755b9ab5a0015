"""Others change what a run reads: nothing outside of the arrays is read or written."""
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

BUILD = pathlib.Path(os.environ.get("PLIANT_BUILD", ROOT / "build" / "release"))
GROUPS = {
    "indices": "gather_rows gather_rows_i32 gather_axis1 gather_elements gather_scalars gather_nd scatter_elements scatter_add "
               "scatter_nd_none scatter_nd_rows_add tensor_scatter_linear reverse_sequence max_unpool one_hot rotary "
               "NegativeLogLikelihoodLoss gather_in_a_loop",
    "coordinates": "roi_align_0 roi_align_2 max_roi_pool grid_sample_linear_zeros grid_sample_nearest_reflection deform_conv",
    "sizes": "slice slice_reversed reshape expand pad_reflect resize_nearest top_k split center_crop_pad compress nonzero unique nms "
             "sequence_at sequence_concat LSTM loop_of_sizes",
}


@pytest.mark.parametrize("group", GROUPS)
def test_nothing_outside_is_touched(group):
    worker = pathlib.Path(__file__).parent / "index_races.py"
    done = subprocess.run([sys.executable, worker, *GROUPS[group].split(), "--library", BUILD / "libpliant_runtime.so", "--seconds", ".2"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
