"""Print one line: the processor, and the kernels of BLAS that NumPy and SciPy compute with."""

import os
import platform
from pathlib import Path


def name_processor() -> str:
    """What the processor calls itself."""
    found = Path("/proc/cpuinfo")
    lines = found.read_text(encoding="utf-8").splitlines() if found.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def name_kernels() -> str:
    """The kernels that are in use; unknown where NumPy or SciPy is missing or does not tell."""
    try:
        import numpy  # noqa: F401
        import scipy.linalg  # noqa: F401
        from threadpoolctl import threadpool_info
    except ImportError as error:
        return f"unknown ({error})"
    blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
    names = {f"{each['internal_api']} {each.get('architecture', 'unknown')}" for each in blas}
    return ", ".join(sorted(names)) or "unknown"


if __name__ == "__main__":
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    why = f" (OPENBLAS_CORETYPE={chosen})" if chosen else ""
    print(f"processor: {name_processor()}; kernels: {name_kernels()}{why}", flush=True)
