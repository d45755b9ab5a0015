"""Some of the mutants of artifact_mutants.py, which makes as many as are wanted."""
import signal

import artifact_mutants


def test_the_loader_takes_anything():
    outcomes, faults, longest, most = artifact_mutants.run(1500)
    assert set(faults) <= {"run"}, dict(faults)
    assert not [found for found in faults["run"] if found[1] in ("hang", f"signal {signal.SIGFPE.value}")], faults
    assert outcomes["refused"] > 300 and outcomes["ran"] > 100, outcomes
    assert longest < artifact_mutants.MOST_SECONDS, longest
