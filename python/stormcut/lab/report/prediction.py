"""What transfer costs as fitted, and how well the cost model foretells throughput by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stormcut.lab.experiment.calibrate import Calibration
from stormcut.lab.experiment.prediction import Prediction, median_error, quality
from stormcut.model.network import SHIPPED
from stormcut.report.tables import Section, Table

#: A prediction and the setting of its bench.
SettingPrediction = tuple[str, Prediction]

_UNITS = {
    "worker_percent": "points of CPU that a worker takes by itself (100 = a core)",
    "send_us_per_tuple": "us of CPU for a batch of tuples that leaves a worker",
    "send_us_per_kib": "us of CPU for each KiB of it",
    "receive_us_per_tuple": "us of CPU for a batch of tuples that enters a worker",
    "receive_us_per_kib": "us of CPU for each KiB of it",
    "link_bytes_per_tuple": "bytes on a link beside a tuple's own",
    "batches_per_s": "batches from one worker to another in a second, at most",
}


def sections(
    calibration: Calibration,
    predictions: Mapping[str, Sequence[SettingPrediction]],
    facts: Sequence[str] = (),
) -> list[Section]:
    """Return the page of a calibration; ``facts`` say how it was made.

    Parameters
    ----------
    predictions : mapping of str to sequence of (setting, Prediction)
        The same cells by the costs ``shipped`` and ``fitted``, in the same order, and those by
        costs fitted ``without`` the topology.
    """
    shipped, fitted = predictions["shipped"], predictions["fitted"]
    settings = dict.fromkeys(where for where, _ in fitted)
    return [
        Section(
            "What transfer costs, fitted",
            1,
            (*facts, _fit_quality(calibration)),
            (_costs(calibration),),
            tuple(_UNITS.items()),
        ),
        Section(
            "Predicted and measured throughput",
            2,
            (_errors(shipped, fitted),),
            (
                *([_quality(settings, predictions)] if fitted else []),
                *(_cells(each, _of(each, shipped), _of(each, fitted)) for each in settings),
            ),
        ),
    ]


def _of(setting: str, predictions: Sequence[SettingPrediction]) -> list[Prediction]:
    return [each for where, each in predictions if where == setting]


#: What costs are called in the table of their quality.
_COSTS = {
    "shipped": "shipped",
    "fitted": "fitted",
    "without": "fitted, the predicted topology left out",
}


def _quality(
    settings: Iterable[str], predictions: Mapping[str, Sequence[SettingPrediction]]
) -> Table:
    rows = tuple(
        (
            setting,
            name,
            f"{100 * figures.rms:.1f} %",
            "-" if figures.rank is None else f"{figures.rank:.2f}",
            f"{100 * figures.bias:+.0f} %",
        )
        for setting in settings
        for costs, name in _COSTS.items()
        if (figures := quality(_of(setting, predictions[costs])))
    )
    return Table(
        ("setting", "costs", "rms error", "rank", "largest bias"),
        rows,
        "Errors are logarithms. Rank: mean of the topologies' rank correlations, the baseline "
        "included. Largest bias: mean error of the topology where it is largest.",
        words=2,
    )


def _fit_quality(fitted: Calibration) -> str:
    return (
        f"Fitted to {fitted.cells} measured windows by non-negative least squares; intervals hold "
        f"90 % of 400 resamples of the windows. The fit explains {100 * fitted.cpu_r2:.0f} % of "
        f"the variance of nodes' CPU and {100 * fitted.link_r2:.0f} % of that of their links."
    )


def _costs(fitted: Calibration) -> Table:
    return Table(
        ("constant", "shipped", "fitted", "90 %"),
        tuple(
            (
                name,
                f"{getattr(SHIPPED, name):g}",
                _short(each.value),
                f"{_short(each.low)} to {_short(each.high)}",
            )
            for name, each in fitted.intervals.items()
        ),
    )


def _errors(shipped: Sequence[SettingPrediction], fitted: Sequence[SettingPrediction]) -> str:
    before, after = (
        median_error([each for _, each in predictions]) for predictions in (shipped, fitted)
    )
    if before is None or after is None:
        return "No scheduler has a steady window beside one of the baseline's."
    return (
        f"{len(fitted)} placements; ratios to the baseline's throughput. Median size of the error: "
        f"{100 * after:.1f} % with the fitted costs, {100 * before:.1f} % with the shipped ones, "
        "in brackets."
    )


def _cells(setting: str, shipped: Sequence[Prediction], fitted: Sequence[Prediction]) -> Table:
    return Table(
        ("topology", "scheduler", "predicted", "measured", "error"),
        tuple(
            (
                each.topology,
                each.scheduler,
                f"{each.predicted:.2f}",
                f"{each.measured:.2f} ({each.lowest:.2f}-{each.highest:.2f})",
                f"{100 * each.error:+.0f} % ({100 * before.error:+.0f} %)",
            )
            for each, before in zip(fitted, shipped, strict=True)
        ),
        f"Setting {setting}:",
        words=2,
    )


def _short(value: float) -> str:
    """Return three digits of a constant; what is as good as nothing is 0."""
    return "0" if value < 0.005 else f"{value:.3g}"
