"""A wall clock that is set, a machine that sleeps: told apart, and each told once."""

from controller.runtime.clock import StepWatch, SuspendWatch

SECOND = 1_000_000_000


class Machine:
    """Three clocks of one machine: monotonic, monotonic with sleep, wall."""

    def __init__(self) -> None:
        self.monotonic, self.boot, self.wall = 5 * SECOND, 5 * SECOND, 1_796_000_000 * SECOND

    def run(self, seconds: float, drift: float = 0.0) -> None:
        passed = int(seconds * SECOND)
        self.monotonic += passed
        self.boot += passed
        self.wall += int(passed * (1 + drift))

    def sleep(self, seconds: float) -> None:
        self.boot += int(seconds * SECOND)
        self.wall += int(seconds * SECOND)

    def watches(self) -> tuple[StepWatch, SuspendWatch]:
        return (
            StepWatch(lambda: self.boot, lambda: self.wall),
            SuspendWatch(lambda: self.boot, lambda: self.monotonic),
        )


def test_a_machine_that_sleeps_has_slept_and_no_clock_has_stepped() -> None:
    machine = Machine()
    steps, sleep = machine.watches()
    machine.run(10)
    assert (steps.look(), sleep.look()) == (None, None)
    machine.sleep(3600)
    machine.run(1)
    assert steps.look() is None
    assert sleep.look() == 3_600_000
    assert sleep.look() is None, "told once"


def test_a_step_is_a_step_in_both_directions_also_during_sleep() -> None:
    machine = Machine()
    steps, sleep = machine.watches()
    for by in (7200, -7200):
        machine.wall += by * SECOND
        machine.run(1)
        step = steps.look()
        assert step is not None
        assert step.step_ms == by * 1000
        assert sleep.look() is None
    machine.sleep(60)
    machine.wall += 30 * SECOND
    step = steps.look()
    assert step is not None
    assert step.step_ms == 30_000
    assert sleep.look() == 60_000


def test_a_slewed_clock_never_adds_up_to_a_step() -> None:
    machine = Machine()
    steps, _ = machine.watches()
    for _ in range(3600):
        machine.run(1, drift=0.0005)
        assert steps.look() is None
