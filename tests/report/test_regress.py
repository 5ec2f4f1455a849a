"""`tilewright bench regress`: a network that became slower by more than noise fails a CI job."""

from __future__ import annotations

import json
import os

import pytest

from tilewright_cli.terminal.group import run


@pytest.fixture
def timed(tmp_path):
    """timed(name, ms, peer): the folder of a run whose samples lie around these times."""

    def made(name, ours, peer=None, runs=12, content="a", below=()):
        def samples(ms):
            told = [ms * (1 + place % 5 / 1000) for place in range(runs)]
            return {"median_ms": ms, "samples_ms": told}

        peers = {} if peer is None else {"onnxruntime": samples(peer)}
        report = {
            "name": name,
            "models": [{"name": "m", "origin": "m", "content": content}],
            "benchmark": [{"tilewright": samples(ours), "peers": peers}] if ours else [],
        }
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(report))
        return folder

    return made


def regress(capsys, old, *more):
    code = run(["bench", "regress", "--against", str(old), *map(str, more)])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize(
    ("before", "after", "code", "verdict"),
    [
        (10.0, 11.0, 1, "slower"),
        (10.0, 9.0, 0, "faster"),
        (10.0, 10.0, 0, "no difference"),
        (10.0, 10.1, 0, "no difference"),  # beyond noise, and less than the least
    ],
)
def test_the_exit_code_is_one_only_where_a_network_is_slower(
    timed, capsys, before, after, code, verdict
):
    found, out, _ = regress(capsys, timed("old", before), timed("new", after))
    assert found == code
    assert out.strip().endswith(verdict)


def test_by_a_peer_a_slower_machine_makes_no_network_slower(timed, capsys):
    old, new = timed("old", 10.0, peer=20.0), timed("new", 13.0, peer=26.0)
    assert regress(capsys, old, new)[0] == 1
    assert regress(capsys, old, new, "--peer", "onnxruntime")[0] == 0
    code, _, err = regress(capsys, old, new, "--peer", "openvino")
    assert (code, "'openvino' was not timed, only onnxruntime" in err) == (2, True)


def test_without_a_new_run_it_is_the_latest_beside_the_old_one(timed, capsys):
    old = timed("old", 10.0)
    for age, (name, ms) in enumerate((("newest", 12.0), ("older", 9.0))):
        file = timed(name, ms) / "run.json"
        os.utime(file, (1e9 - age, 1e9 - age))
    code, out, _ = regress(capsys, old)
    assert (code, "slower" in out) == (1, True)
    code, _, err = regress(capsys, old / "nothing")
    assert (code, "no other run beside it" in err) == (2, True)


def test_too_few_samples_tell_nothing(timed, capsys):
    code, out, _ = regress(capsys, timed("old", 10.0, runs=2), timed("new", 20.0, runs=2))
    assert (code, "too few samples" in out) == (3, True)


def test_a_network_that_the_new_run_has_not_timed_is_told(timed, capsys):
    for name, networks in (("old", ("one", "two")), ("new", ("one",))):
        folder = timed(name, None)
        for network in networks:
            file = timed(f"{name}/{network}", 10.0) / "run.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "name": network}))
    code, out, _ = regress(capsys, folder.parent / "old", folder)
    assert (code, out.splitlines()[1]) == (3, "two: 10.01 ms, not timed by the new run")


def test_every_network_of_a_run_is_compared_with_its_own(timed, capsys):
    for name, slow in (("old", 1.0), ("new", 1.5)):
        folder = timed(name, None)
        timed(f"{name}/one", 10.0)
        timed(f"{name}/two", 10.0 * slow, content="b")
        for network in ("one", "two"):
            file = folder / network / "run.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "name": network}))
    code, out, _ = regress(capsys, folder.parent / "old", folder, "--json")
    told = {one["network"]: one["verdict"] for one in json.loads(out)["networks"]}
    assert (code, told) == (1, {"one": "no difference", "two": "slower"})


def test_none_of_many_networks_is_passed_over(timed, capsys):
    for name, slow in (("old", 1.0), ("new", 1.5)):
        folder = timed(name, None)
        for number in range(30):
            place = timed(f"{name}/net{number:02}", 10.0 * (slow if number == 29 else 1.0))
            file = place / "run.json"
            file.write_text(json.dumps({**json.loads(file.read_text()), "name": place.name}))
    code, out, _ = regress(capsys, folder.parent / "old", folder, "--json")
    told = {one["network"]: one["verdict"] for one in json.loads(out)["networks"]}
    assert (code, len(told), told["net29"]) == (1, 30, "slower")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"content": "b", "ours": 10.0}, "runs of different models"),
        ({"ours": None}, "no network that both have timed"),
    ],
)
def test_what_has_nothing_in_common_is_refused(timed, capsys, new, said):
    code, _, err = regress(capsys, timed("old", 10.0), timed("new", **new))
    assert (code, said in err) == (2, True)
