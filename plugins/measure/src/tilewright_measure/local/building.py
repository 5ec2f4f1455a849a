"""What a worker does with a build request."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tilewright.errors import UsageError
from tilewright.host.plugin_host import PluginHost
from tilewright.roles import Artifact, BuildResult
from tilewright.vocabulary.config import ConfigEntity
from tilewright.vocabulary.measure import Failure, FailureKind
from tilewright.vocabulary.task import Task
from tilewright_measure.timing.phases import phase
from tilewright_measure.worker.failures import failure_of


def build(host: PluginHost, request: Mapping[str, Any]) -> dict[str, Any]:
    """Lower and compile one candidate: {"artifact" or "failure", "timings"}.

    ValueError and UsageError mean that the config cannot be (`invalid_config`), other exceptions
    `build_error`.
    """
    task = Task.from_json(request["task"])
    config = ConfigEntity.from_json(request["config"])
    timings: dict[str, float] = {}
    try:
        with phase(timings, "lower"):
            program = host.lower(task, config)
        with phase(timings, "compile"):
            artifact = host.backend(task.target.kind).build(program, task.target)
    except (ValueError, UsageError) as error:
        failure = failure_of(error, FailureKind.INVALID_CONFIG)
    except Exception as error:  # noqa: BLE001  whatever a plugin raises costs one candidate
        failure = failure_of(error, FailureKind.BUILD_ERROR)
    else:
        return {"artifact": artifact_to_json(artifact), "timings": timings}
    return {"failure": failure.to_json(), "timings": timings}


def artifact_to_json(artifact: Artifact) -> dict[str, Any]:
    """The artefact for a frame, its code in base64."""
    return {
        "target": artifact.target,
        "format": artifact.format,
        "data": base64.b64encode(artifact.data).decode(),
        "metadata": dict(artifact.metadata),
    }


def artifact_from_json(data: Mapping[str, Any]) -> Artifact:
    """The inverse of `artifact_to_json`."""
    code = base64.b64decode(data["data"], validate=True)
    return Artifact(data["target"], data["format"], code, data["metadata"])


def build_result_to_json(built: BuildResult) -> dict[str, Any]:
    """As `build` replies it."""
    made: dict[str, Any] = {"timings": dict(built.timings)}
    if built.artifact is not None:
        made["artifact"] = artifact_to_json(built.artifact)
    if built.failure is not None:
        made["failure"] = built.failure.to_json()
    return made


def build_result_from_json(data: Mapping[str, Any]) -> BuildResult:
    """What a reply of `build` says."""
    if "failure" in data:
        return BuildResult(None, Failure.from_json(data["failure"]), data["timings"])
    return BuildResult(artifact_from_json(data["artifact"]), None, data["timings"])
