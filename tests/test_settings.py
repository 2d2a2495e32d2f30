"""Settings: where they come from, and what they may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.errors import BadSettings
from kedgeline.settings import Settings, load_settings


def test_the_environment_is_stronger_than_files(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.kedgeline]\nvocabulary = 'cl100k'\n")
    (tmp_path / "kedgeline.toml").write_text("largest_outputs = 3\n")
    found = load_settings(tmp_path, environment={"KEDGELINE_LARGEST_OUTPUTS": "0"})
    assert found == Settings(vocabulary="cl100k", largest_outputs=0)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("KEDGELINE_LARGEST_OUTPUTS", "-1", ">= 0"),
        ("KEDGELINE_LARGEST_OUTPUTS", "many", "Expected `int`"),
        ("KEDGELINE_VOCABULARY", "p50k", "p50k"),
    ],
)
def test_a_wrong_value_names_its_variable(
    tmp_path: Path, name: str, value: str, problem: str
) -> None:
    good = {"KEDGELINE_LARGEST_OUTPUTS": "2", "KEDGELINE_VOCABULARY": "estimate"}
    with pytest.raises(BadSettings) as raised:
        load_settings(tmp_path, environment={**good, name: value})
    assert raised.value.where == name
    assert problem in str(raised.value)


@pytest.mark.parametrize("data", [b"[tool.kedgeline\n", b"\xff\xfe", b"<<<<<<< ours\n"])
def test_a_broken_pyproject_of_others_does_not_stop_kedgeline(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(data)
    assert load_settings(tmp_path, environment={}) == Settings()


def test_a_broken_file_of_our_own_does(tmp_path: Path) -> None:
    (tmp_path / "kedgeline.toml").write_text("vocabulary = \n")
    with pytest.raises(BadSettings, match=r"kedgeline\.toml"):
        load_settings(tmp_path, environment={})


def test_a_wrong_table_in_pyproject_is_said(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.kedgeline]\nvocabularies = 1\n")
    with pytest.raises(BadSettings, match="vocabularies"):
        load_settings(tmp_path, environment={})
