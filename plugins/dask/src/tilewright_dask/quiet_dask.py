"""Dask as a fleet needs it: no work stealing, no sampling beside what is timed, no chatter."""

from __future__ import annotations

import logging

_SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.scheduler.allowed-failures": 0,  # the driver tries elsewhere, and once
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}


def quiet_dask() -> None:
    """Set it so, in this process."""
    import dask.config

    dask.config.set(_SETTINGS)
    import distributed  # noqa: F401  gives its loggers their levels

    for name in list(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
