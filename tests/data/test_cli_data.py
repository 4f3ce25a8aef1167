"""`lockstep data`: the three verbs, as text and as JSON."""

from __future__ import annotations

import argparse
import json

import pytest

from lockstep.cli import data
from lockstep.errors import InputError


def call(*words: str) -> int:
    parser = argparse.ArgumentParser()
    data.register(parser.add_subparsers())
    args = parser.parse_args(["data", *words])
    return args.handler(args)


def test_list_says_what_is_here_and_how_to_get_the_rest(cache, capsys):
    assert call("list") == 0
    printed = capsys.readouterr().out
    assert "\t" not in printed
    head, _, *rows = printed.splitlines()
    assert head.split() == ["name", "title", "here", "edition", "path"]
    found = {row.split()[0]: row for row in rows}
    assert " package " in found["airfoil"]
    how = "0.2 MB from d2l-data.s3-accelerate.amazonaws.com when first needed"
    assert "not here" in found["timemachine"]
    assert how in found["timemachine"]


def test_list_as_json(cache, capsys):
    assert call("list", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["here"] for row in rows if row["name"] != "fashion-mnist"] == [True, False]
    assert rows[0]["digest"] == "sha1:76e5be1548fd8222e5074cf0faae75edff8cf93f"
    assert "CC BY 4.0" in rows[0]["citation"]


def test_fetch_tells_place_and_edition(cache, capsys):
    assert call("fetch", "airfoil") == 0
    assert capsys.readouterr().out.startswith("airfoil: package, edition d2l, sha1:76e5be15")
    assert call("fetch", "airfoil", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["edition"] == "d2l"


def test_unknown_names_are_refused(cache):
    with pytest.raises(InputError, match="airfoil"):
        call("fetch", "airfoils")


def test_verify_fails_on_a_bad_copy_and_on_none(cache, capsys):
    assert call("verify", "airfoil") == 0
    assert call("verify", "timemachine") == 1
    cache.mkdir()
    (cache / "airfoil_self_noise.dat").write_bytes(b"800\t0\r\n")
    capsys.readouterr()
    assert call("verify", "airfoil", "--json") == 1
    states = {row["place"]: row["state"] for row in json.loads(capsys.readouterr().out)}
    assert states == {"LOCKSTEP_DATA": "absent", "cache": "bad", "package": "good"}
