"""The payload: bytes that every tuple carries beside its values."""

from __future__ import annotations

from typing import Any

PADDING = "x"


class Padded:
    """Adds a last field `padding` to what a component declares and emits."""

    padding = ""

    def __init_subclass__(cls) -> None:
        """Declare the field in each class that names its outputs."""
        super().__init_subclass__()
        if cls.__dict__.get("outputs"):
            cls.outputs = [*cls.outputs, "padding"]  # type: ignore[attr-defined]

    def emit(self, values: list[Any], **more: Any) -> Any:
        """Emit values and padding."""
        return super().emit([*values, self.padding], **more)  # type: ignore[misc]
