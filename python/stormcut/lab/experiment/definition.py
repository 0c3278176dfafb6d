"""What a benchmark topology declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stormcut.lab.experiment.loss import Hop


@dataclass(frozen=True)
class OptionText:
    """An option for people: its default and what it sets."""

    default: object
    help: str


@dataclass(frozen=True)
class ComponentDefinition:
    """A component; `inputs` is empty for a spout."""

    name: str
    tasks: int
    inputs: tuple[tuple[str, str], ...]

    @property
    def is_spout(self) -> bool:
        """Whether it has no inputs."""
        return not self.inputs


@dataclass(frozen=True)
class Definition:
    """A topology at the size its defaults give.

    Attributes
    ----------
    name : str
        Module in the project's `topologies/`.
    summary : str
        One line.
    options : mapping
        Every option, by the name it has on the command line.
    components : tuple of Component
        In the order they are declared.
    hops : tuple of Hop
        Who sends to whom.
    """

    name: str
    summary: str
    options: Mapping[str, OptionText]
    components: tuple[ComponentDefinition, ...]
    hops: tuple[Hop, ...]

    @property
    def tasks(self) -> int:
        """Tasks of all components."""
        return sum(component.tasks for component in self.components)

    @property
    def spouts(self) -> tuple[ComponentDefinition, ...]:
        """The components that have no inputs."""
        return tuple(component for component in self.components if component.is_spout)
