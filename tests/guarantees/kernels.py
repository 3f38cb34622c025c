"""Studies on the processor of somebody else: in a process that multiplies and adds in another way.

OpenBLAS has kernels for many processors, and a newer processor can run those of older ones. NumPy
has functions for many as well, of which newer ones can be switched off.
"""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import threadpoolctl

ROOT = Path(__file__).parents[2]
# The oldest kernel is the one without fused multiplications. Of these, two are not the machine's.
KERNELS = ("Prescott", "Haswell", "Nehalem")
# The oldest processor's kernel does without NumPy's functions for newer ones, too.
_PLAIN = KERNELS[0]


def find_own() -> str | None:
    """The kernel of this process; None on a machine that has no choice of them."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    import numpy as np

    np.ones((2, 2)) @ np.ones((2, 2))
    found = [each.get("architecture") for each in threadpoolctl.threadpool_info()]
    return next((each for each in found if each), None)


def list_others() -> tuple[str, ...]:
    """Two kernels that are not the machine's own."""
    return tuple([each for each in KERNELS if each.lower() != str(find_own()).lower()][:2])


def run(kernel: str | None, function: str, *arguments: object) -> Any:
    """The result of tests.guarantees.FUNCTION under a kernel, as JSON; None is the machine's own.

    Raises OSError where the processor cannot run the kernel.
    """
    environment = {name: text for name, text in os.environ.items() if name != _VARIABLE}
    if kernel is not None:
        environment[_VARIABLE] = kernel
    if kernel == _PLAIN:
        environment["NPY_DISABLE_CPU_FEATURES"] = " ".join(_list_features())
    module, name = function.rsplit(".", 1)
    script = (
        "import json, sys, warnings\n"
        f"from tests.guarantees import kernels\nfrom {module} import {name}\n"
        "warnings.simplefilter('ignore')\n"
        f"found = {name}(*json.loads(sys.argv[1]))\n"
        "json.dump([kernels.find_own(), found], sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    used, found = json.loads(done.stdout)
    # The oldest kernels call themselves by other names, too.
    if kernel is not None and used == find_own():
        raise OSError(f"the processor runs {used} in place of {kernel}")
    return found


_VARIABLE = "OPENBLAS_CORETYPE"


def _list_features() -> list[str]:
    """Names of the sets of instructions that NumPy has functions for and this processor has."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:
        from numpy.core import _multiarray_umath as core
    return [each for each in core.__cpu_dispatch__ if core.__cpu_features__.get(each)]
