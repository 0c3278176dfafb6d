"""What reading metrics logs yields."""

from __future__ import annotations

from dataclasses import dataclass

from stormcut.model.profile import Profile
from stormcut.profile.lines import LineSummary
from stormcut.profile.measured import Measured


@dataclass(frozen=True)
class ProfileResult:
    """What one run found, by topology id.

    Parameters
    ----------
    unmeasured : tuple of str
        Topologies with logs but without an interval of the hook inside the window.
    """

    profiles: dict[str, Profile]
    measured: dict[str, Measured]
    unmeasured: tuple[str, ...]
    lines: LineSummary
