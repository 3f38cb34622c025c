"""Values of the pool as tasks show them."""

import json
import math
from typing import Any


def write_scalar(value: Any) -> Any:
    """A value of the pool as JSON that tools show: text, or a finite number."""
    if value is None:
        return ""
    if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return write_text(value)


def write_text(value: Any) -> str:
    """A value of the pool as text; lists and objects as JSON."""
    if value is None:
        return ""
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
