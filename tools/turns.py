"""Times of systems that take turns in one process, each with the machine to itself."""
import time


def settle(most=0.5):
    """Waits until no other thread of this process computes: workers of some systems spin for up to 50 ms after their turn, and would
    take half of the next one's second CPU."""
    end = time.perf_counter() + most
    while time.perf_counter() < end:
        used, start = time.process_time(), time.perf_counter()
        time.sleep(0.004)
        if time.process_time() - used < 0.1 * (time.perf_counter() - start):
            return


def take_turns(functions, rounds):
    """Milliseconds of each round, for each function."""
    times = [[] for _ in functions]
    for _ in range(rounds):
        for f, t in zip(functions, times):
            settle()
            start = time.perf_counter()
            f()
            t.append(1e3 * (time.perf_counter() - start))
    return times
