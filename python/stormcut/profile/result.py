"""What reading metrics logs yields."""

from __future__ import annotations

from dataclasses import dataclass, field

from stormcut.model.profile import Profile
from stormcut.profile.lines import LineSummary
from stormcut.profile.measured import Measured


@dataclass(frozen=True)
class ComponentRates:
    """A component's rates by Storm's own metrics, where there are none from the hook.

    Parameters
    ----------
    tasks : int
        That reported.
    emitted_per_s, executed_per_s, acked_per_s, failed_per_s : float
        Tuples/s of all of them, as Storm samples and scales them.
    execute_ms : float or None
        Mean time that `execute` took, None if it was not sampled.
    """

    component: str
    tasks: int
    emitted_per_s: float
    executed_per_s: float
    acked_per_s: float
    failed_per_s: float
    execute_ms: float | None


@dataclass(frozen=True)
class ProfileResult:
    """What one run found, by topology id.

    Parameters
    ----------
    unmeasured : tuple of str
        Topologies with logs but without an interval of the hook inside the window.
    moved : dict of str to float
        When topologies moved last, in epoch seconds: what was before counts only if asked for.
    components : dict of str to tuple of ComponentRates
        Rates of these by Storm's own metrics.
    """

    profiles: dict[str, Profile]
    measured: dict[str, Measured]
    unmeasured: tuple[str, ...]
    lines: LineSummary
    moved: dict[str, float] = field(default_factory=dict)
    components: dict[str, tuple[ComponentRates, ...]] = field(default_factory=dict)
