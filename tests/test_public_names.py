"""`from pytest_cachesafe import …`: lazy, complete, and typo-proof."""

from __future__ import annotations

import importlib.metadata

import pytest

import pytest_cachesafe


@pytest.mark.parametrize("name", pytest_cachesafe.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(pytest_cachesafe, name) is getattr(pytest_cachesafe, name)


def test_dir_lists_the_public_names_and_no_more() -> None:
    assert dir(pytest_cachesafe) == sorted(pytest_cachesafe.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="assert_prefix_stabel"):
        pytest_cachesafe.assert_prefix_stabel  # noqa: B018


def test_the_version_is_the_distributions() -> None:
    try:
        installed = importlib.metadata.version("pytest-cachesafe")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("run from a checkout that is not installed")
    assert installed == pytest_cachesafe.__version__
