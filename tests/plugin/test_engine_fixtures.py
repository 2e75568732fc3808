"""Fixture `prefix_cache`, `cachesafe.engine()`, and how a ReuseFailure looks in pytest."""

from __future__ import annotations

from typing import Any


def test_an_empty_cache_for_each_test(project: Any) -> None:
    project.test(
        """
@pytest.mark.parametrize("n", range(2))
def test_it(prefix_cache, n):
    assert prefix_cache.request(range(64)).cached_tokens == 0
    assert prefix_cache.unit == 16

@pytest.mark.cachesafe(block_size=32)
def test_its_block_is_the_option(cachesafe):
    assert cachesafe.engine().unit == 32
    assert cachesafe.engine(block_size=8).unit == 8
    assert cachesafe.engine("sglang", page_size=4).engine == "sglang"
    with pytest.raises(Exception, match="did you mean 'sglang'"):
        cachesafe.engine("sgland")
"""
    )
    project.run().assert_outcomes(passed=3)


def test_a_failure_is_plain_and_its_first_line_complete(project: Any) -> None:
    project.test(
        """
def test_it(cachesafe):
    with cachesafe.record() as rec:
        rec.request({"prompt_token_ids": list(range(64))})
        rec.request({"prompt_token_ids": [*range(30), 7, 7, 7]})
    rec.assert_reused("vllm")
"""
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       vLLM does not reuse enough: request 1 finds 16 of the 64 tokens of request 0: 34 tokens changed*",
            "FAILED test_it.py::test_it - vLLM does not reuse enough: request 1*",
        ]
    )
    text = result.stdout.str()
    assert "ReuseFailure: " not in text
    assert "reuse/__init__.py" not in text


def test_a_recording_that_was_asked_for_reuse_is_judged(project: Any) -> None:
    project.test(
        """
def test_it(cachesafe):
    with cachesafe.record() as rec:
        rec.request({"prompt_token_ids": list(range(64))})
        rec.request({"prompt_token_ids": list(range(80))})
    assert rec.assert_reused("vllm", min_share=0.8).cached_tokens == 64
"""
    )
    result = project.run()
    result.assert_outcomes(passed=1)
    assert "never judged" not in result.stdout.str()
