"""The tests of the plugins run at a service that is started as for those of the module."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from services import client, service  # noqa: E402

__all__ = ["client", "service"]
