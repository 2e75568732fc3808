"""Who does it to whom, with pronouns, possessives and names of several words."""

from __future__ import annotations

import pytest

from tests.support.semantic_pairs import judged


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Can my teacher read my notes?", "Can I read my teacher's notes?"),
        ("When can my teacher read my notes?", "When can I read my teacher's notes?"),
        ("Does the shop owe me a voucher?", "Do I owe the shop a voucher?"),
        ("Can the courier call me?", "Can I call the courier?"),
        ("Can I read his letter?", "Can he read my letter?"),
        ("Should we pay them?", "Should they pay us?"),
        ("Does the gateway poll the backup node?", "Does the backup node poll the gateway?"),
        ("Does the parent stop the child process?", "Does the child process stop the parent?"),
    ],
)
def test_exchanged_roles(a: str, b: str) -> None:
    assert judged(a, b) == ("suspect", "role_swap")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("How can my profile be deleted from the app?", "How can I delete my profile from the app?"),
        ("How does my phone sync to the cloud?", "How do I sync my phone to the cloud?"),
        ("Can I read his letter?", "Can we read his letter?"),
        ("Can I share it with her?", "Can I share it with her, please?"),
        ("Is the gateway polled by the backup node?", "Does the backup node poll the gateway?"),
        ("Compare the gateway and the backup node", "Compare the backup node and the gateway"),
        ("Can I meet the courier?", "Can the courier meet me?"),
    ],
)
def test_roles_that_are_the_same(a: str, b: str) -> None:
    assert judged(a, b)[0] == "none"
