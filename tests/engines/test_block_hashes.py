"""Digests and events as servers publish them."""

from __future__ import annotations

import struct
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_cachesafe.engines.cache import PrefixCache
from pytest_cachesafe.engines.hashing import BlockHasher, canonical_bytes, cbor
from pytest_cachesafe.engines.vllm.events import AllBlocksCleared, BlockRemoved, BlockStored
from pytest_cachesafe.engines.vllm.manager import VllmCache
from pytest_cachesafe.usage import UsageError

# Made by vLLM 0.33.0's own get_request_block_hasher (v1/core/kv_cache_utils.py) for the requests below, without
# PYTHONHASHSEED or with the one that is named; blocks of 4 tokens. "root" is its NONE_HASH.
GOLDEN: dict[tuple[str, str | None], dict[str, list[str]]] = {
    ("sha256_cbor", None): {
        "root": ["9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0"],
        "plain": [
            "dc7fbfd287fac7b6243222eb8a406c3a145df86542e11806ae74c52db0f7a8e2",
            "5f9e2ebc0c70bf093bb08bc9d26751f338f80765c0fc409fe4ef2a7bdf8d06bf",
        ],
        "lora": [
            "8101779844015533b7691c04a1e8d6bfce068b0de138a59587e6828ea99299db",
            "4d42cb4b4a5a18fdcd01da0ad0217872b85e56ecfb7b27a01d68c21d35b960fe",
        ],
        "salt": [
            "cac90805ba2b0a537227402bec675fab82aee47b5a473fd440d39e259ede9b9f",
            "f9890a8ae2278b7c5d106c3426a9747c7c7970e54944953001c50b36fd2dd752",
        ],
        "mm": [
            "80783d1314ac1fd6ee49ebc50a75c0144d02100ff6aeaad6830e3ee0a9988034",
            "760fb0fbe605f1735bab62412b7fb46655b804636b649ac6e447a64e662ff830",
            "c152d7798d077f19614a023486d4cdc6ddee6c2f0d21483d7bfb5c71a6ca3a02",
            "3523137b389d507a5b44b9cf0b44c1fa37467a9e7a0553425941341066e0077d",
        ],
        "all": [
            "79aefac359386c961d462be77b46d0760421f8d8c8f2a95733ca2e83fbc4fd17",
            "850020785eb0a5d05f1712834471c343406b1add44c1374d7ff5dc58cd41d1e3",
        ],
        "embeds": [
            "72e4c2a0fdbc6c542ff80dd4083c8c10e600992be249f984fc82f9f7f3b4842e",
            "c3996d6e1a8e7ab45a3128b84875be4d4d5747b0d6f744e1f65debc3cac76879",
        ],
    },
    ("sha256_cbor", "0"): {
        "root": ["4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e"],
        "plain": [
            "ca90027d467f8ae0c02e71aa4eff29f116d1b74ca16446a60ab640f53e976f43",
            "bca6404c16aaa3219691839b199e2dd853e32996475cfee7432e994e7fdf78f1",
        ],
        "lora": [
            "e1a694b29003b758bb78694909341aae582723cf9354185649e84580e5448093",
            "597bb0749c0fa2d894a8bdcb632827e1936c7ead2a14fd513bfd158a3267bab3",
        ],
        "salt": [
            "a9ca1d7852e646b943cd7e4bd230de0dae56084516f117ca6b6d873adfa5d20b",
            "16493b3735bf867002c9432416b30b86e4dc2c4e5eb79de18d306be1515da4b8",
        ],
        "mm": [
            "a5610ad86fb58ac8d8939ad85cd7b4b021f06ce73bba6d8348eb2df96a6a09ad",
            "8ddcd95f0f591162f35043aa3bdcb5b9249e9856acb7ad951216b653af8b10b3",
            "56e8a597da103bec4b94169e2ab94a5f575a44fd74b9fc38297021a72f9d94b7",
            "c442a77268105672fcd423741773889c12c2b5a30027ac7ef41ee22348d20c81",
        ],
        "all": [
            "dc2a25f33789ce1d0ac4eda84f200b64b674777046e5f1614edf679b48a0861c",
            "4a680276b038109e51224929bc102d3767946282f71059545a8124d50a16d38d",
        ],
        "embeds": [
            "c5cac4c35949cd66651292dec2f8d62911879c10b91e80f6c5ddf516bac4b325",
            "89e16e80d2d6a693f56f42e404915f6becefb1a03614c21475b15c1f6d2a433f",
        ],
    },
    ("sha256", None): {
        "root": ["066b1e8987e027138e98701c46128929378935f9b6cd1549105ae6b4f0d71198"],
        "plain": [
            "c8246c9550fae41ae1ce4dc2073b23da12369f54fc68eee4e4cda8e8d3358047",
            "deb42c2a898e60fe18db767ee36d3988cc25dddcc6925219f1077b1c95b9c792",
        ],
        "lora": [
            "94c18dcff7f3717c86916db8d963ae58d813ea5a8d635d6b7da07d027d476f77",
            "a6c7851ab42236497c5f98cc840a4ecf2f1d84054dd9f15c1bfeb889ef2b6db6",
        ],
        "salt": [
            "be77564e8dc7920c1934e1566ab6aa0482b04174ca6e146c5033acab27d2fd16",
            "7a0d5a599416bc3abf00337aa044cf2d18aa3fa38d38bb456d8c714fbe538a29",
        ],
        "mm": [
            "1b847db8c3aaafb0915881e70b9609f813f3403dca8d736204da829342eea901",
            "ba7c76bcb3ee134b13a1a0b61d37d1d4340be8e1a7cc6b362ab51c8e946c5b00",
            "108467e1ec699dbf0c3bdf8c40afc0b9e9074c2d1409c477e669fe7f0e8f3908",
            "1b48e5a3627a0d30f4a79d478dc1cc97baf5d3f564306c096e3585c9123a7cc3",
        ],
        "all": [
            "14a4a9a044851d870fa1cf79d3bb38314e44071b39cbe5cf8e75187a8d119fbd",
            "65f7cffc36689c565b5809073ddfa798483f158e7eafb36bfea0ba6221f4231a",
        ],
        "embeds": [
            "97e8c45bfd851b31c6318e04d250e31073ccb09e39d138e304f410d3a241d543",
            "9272be304ca133085a036c4db58df45b226899f7d73b8a7e953bea1efe8c831d",
        ],
    },
    ("xxhash_cbor", "0"): {
        "root": ["1ebe36576dcb573f26b99533a20aaeca"],
        "plain": [
            "cd09d8ae700da635d72fa41ccddba746",
            "a7a9489afab0a5cf96422fc35f372ba1",
        ],
        "lora": [
            "f4494fce4ad8227a9c2f9c09827b4ff6",
            "132b6389d77b3ec7ca721015174565b6",
        ],
        "salt": [
            "6a7c20007c74340a1bd7dc4d1375c89f",
            "0148edebe2291200c7778c306af80cd8",
        ],
        "mm": [
            "e1e151beb866061a39e6aa49702911d8",
            "c91a48070ae74ffbe23dc34e3fd4e031",
            "7f6fd35835c498be26bf415b10111735",
            "1ab3feff9d3da09be0adfbfe1c81acfb",
        ],
        "all": [
            "1137a913e602d0de0fd15c8d7d5bdf49",
            "c7114ec5b90d671a97321d0fce4063b2",
        ],
        "embeds": [
            "df8da83e19f7805d455c2ed7ef448b48",
            "458fc26ffe4740e5362eba8488596c58",
        ],
    },
}
# 10 tokens of two 32-bit floats: the third block is not full, but the second sees all of its rows.
EMBEDS = array("f", range(20)).tobytes()
REQUESTS: dict[str, tuple[list[int], dict[str, Any]]] = {
    # Numbers at which their CBOR gets longer; two tokens are left over.
    "plain": ([0, 23, 24, 255, 256, 65535, 65536, 2**31 - 1, 1, 2], {}),
    "lora": (list(range(8)), {"lora": ("sql", "/adapters/sql")}),
    "salt": (list(range(8)), {"salt": "tenant-ä"}),
    "mm": (list(range(16)), {"mm": [("imgA", 2, 5), ("imgB", 7, 4)]}),
    "all": (list(range(8)), {"lora": ("sql", "/adapters/sql"), "salt": "s", "mm": [("imgA", 1, 6)]}),
    "embeds": ([0] * 10, {"embeds": EMBEDS}),
}


def cache(**options: Any) -> VllmCache:
    made = PrefixCache("vllm", block_size=4, **options)
    assert isinstance(made, VllmCache)
    return made


@pytest.mark.parametrize(("algorithm", "seed"), GOLDEN)
@pytest.mark.parametrize("name", REQUESTS)
def test_digests_equal_those_of_the_server(algorithm: str, seed: str | None, name: str) -> None:
    if algorithm.startswith("xxhash"):
        pytest.importorskip("xxhash")
    pool = cache(hash=algorithm, none_hash_seed=seed)
    assert pool.hasher.root.hex() == GOLDEN[algorithm, seed]["root"][0]
    tokens, more = REQUESTS[name]
    assert list(pool.request(tokens, **more).block_hashes) == GOLDEN[algorithm, seed][name]


def test_digests_grow_with_the_reply() -> None:
    tokens, more = REQUESTS["mm"]
    pool = cache(hash="sha256_cbor")
    request = pool.request(tokens[:13], **more)
    assert len(request.block_hashes) == 3
    request.append(tokens[13:])
    # The last block is full, though its last token has no KV.
    assert list(request.block_hashes) == GOLDEN["sha256_cbor", None]["mm"]


def test_the_canonical_form_is_what_its_documentation_says() -> None:
    tokens, extra = [1, 2**31 - 1], (("lora", "a", "é"), ("mm", "i", -3), ("prompt_embeds", b"\x01"))
    u32 = struct.Struct("<I").pack

    def text(value: str) -> bytes:
        data = value.encode()
        return b"T" + u32(len(data)) + data

    expected = b"cachesafe block 1\n" + u32(2) + b"pp" + u32(2) + u32(1) + u32(2**31 - 1) + b"L" + u32(3)
    expected += b"L" + u32(3) + text("lora") + text("a") + text("é")
    expected += b"L" + u32(3) + text("mm") + text("i") + b"I" + struct.pack("<q", -3)
    expected += b"L" + u32(2) + text("prompt_embeds") + b"B" + u32(1) + b"\x01"
    assert canonical_bytes(b"pp", tokens, extra) == expected
    assert canonical_bytes(b"", [], None) == b"cachesafe block 1\n" + u32(0) + u32(0) + b"N"


def test_canonical_digests_stay_as_they_are() -> None:
    hashes = cache().request(list(range(8)), salt="s").block_hashes
    assert hashes == (
        "18dca259a12375244d7e245c8c36c0c2cae0783ab7f869ac9f5a7fcdc117f93a",
        "3415d2e6c63fed5b062d38e7d77dfa3591893693f6383922852b2870c5256931",
    )


EXTRA = st.none() | st.lists(
    st.tuples(st.just("cache_salt"), st.text(max_size=3))
    | st.tuples(st.just("lora"), st.text(max_size=3), st.text(max_size=3))
    | st.tuples(st.just("mm"), st.text(max_size=3), st.integers(-99, 99))
    | st.tuples(st.just("prompt_embeds"), st.binary(max_size=3)),
    min_size=1,
    max_size=2,
).map(tuple)
BLOCK = st.tuples(st.binary(max_size=3), st.lists(st.integers(0, 2**31 - 1), max_size=3).map(tuple), EXTRA)


@settings(deadline=None)
@given(BLOCK, BLOCK)
def test_two_blocks_have_the_same_bytes_only_if_they_are_the_same(one: Any, other: Any) -> None:
    assert (canonical_bytes(*one) == canonical_bytes(*other)) == (one == other)
    assert (cbor(one) == cbor(other)) == (one == other)


@settings(deadline=None)
@given(BLOCK, st.integers(-(2**63), 2**64 - 1))
def test_cbor_equals_a_library(block: Any, number: int) -> None:
    cbor2 = pytest.importorskip("cbor2")
    assert cbor((block, number)) == cbor2.dumps((block, number), canonical=True)


def test_what_an_algorithm_needs_is_said() -> None:
    with pytest.raises(UsageError, match="PYTHONHASHSEED"):
        BlockHasher("xxhash_cbor")
    with pytest.raises(UsageError, match="as text"):
        BlockHasher("sha256_cbor", none_hash_seed=0)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="one of canonical"):
        BlockHasher("sha1")


# Taken from vLLM 0.33.0's own KVCacheManager for the steps below, 7 blocks of 4 tokens, sha256_cbor.
EVENTS = [
    BlockStored([1088283741995145368, 1498344643476930809], None, [*range(8)], 4, None, [None, None]),
    BlockStored([4496890012247391769], 1498344643476930809, [*range(8, 12)], 4, None, [None]),
    BlockStored(
        [3731846385629461783, 9220518086069834211],
        None,
        [*range(8)],
        4,
        "sql",
        [("sql", ("imgA", 1), "s"), ("sql", ("imgA", -3))],
    ),
    BlockRemoved([4496890012247391769]),
    BlockStored([1498344643476930809], 1088283741995145368, [*range(4, 8)], 4, None, [None]),
    BlockRemoved([1498344643476930809]),
    BlockStored([1498344643476930809], 1088283741995145368, [*range(4, 8)], 4, None, [None]),
    BlockRemoved([9220518086069834211]),
    BlockRemoved([3731846385629461783]),
    BlockRemoved([1498344643476930809]),
    BlockRemoved([1498344643476930809]),
    BlockRemoved([1088283741995145368]),
    BlockStored(
        [3116064466269688378, 1983380031307350253, 14020441017892625510, 2853742853625869893, 16867986807117914538],
        None,
        [*range(50, 70)],
        4,
        None,
        [None, None, None, None, None],
    ),
    AllBlocksCleared(),
]


def test_events_equal_those_of_the_server() -> None:
    pool = cache(num_blocks=7, hash="sha256_cbor", events=True)
    first = pool.request(list(range(10)))
    # Tokens 10 to 12 get KV: the third block is full with token 11.
    first.append([10, 11, 12, 13])
    first.free()
    adapted = pool.request(list(range(9)), lora=("sql", "/adapters/sql"), salt="s", mm=[("imgA", 1, 6)])
    # 8 tokens: 1 block found; the second is computed anew, so two blocks have its key, then three.
    second, third = pool.request(list(range(8))), pool.request(list(range(8)))
    for request in (adapted, second, third):
        request.free()
    # 23 tokens take all 6 blocks.
    pool.request(list(range(50, 73))).free()
    assert pool.reset()
    assert pool.take_events() == EVENTS
    assert pool.take_events() == []


def test_events_name_whole_digests_on_request() -> None:
    pool = cache(num_blocks=7, hash="sha256_cbor", events=True, int_block_hashes=False)
    request = pool.request([1, 2, 3, 4])
    (event,) = pool.take_events()
    assert isinstance(event, BlockStored)
    assert event.block_hashes == [bytes.fromhex(request.block_hashes[0])]
    with pytest.raises(UsageError, match="events=True"):
        cache().take_events()


TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=14)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TOKENS, TOKENS, st.integers(0, 3)), max_size=12))
def test_events_tell_what_is_cached(traffic: list[tuple[list[int], list[int], int]]) -> None:
    """Whoever follows the events knows how many blocks have each key, and so what a look-up finds."""
    pool = cache(num_blocks=9, events=True, int_block_hashes=False)
    silent = cache(num_blocks=9)
    known: dict[bytes, int] = {}
    live: list[Any] = []
    for prompt, reply, keep in traffic:
        pair = pool.request(prompt), silent.request(prompt)
        # Events change nothing else.
        assert pair[0].block_ids == pair[1].block_ids
        if pair[0].admitted:
            assert pair[0].append(reply) == pair[1].append(reply)
            live.append(pair)
        while len(live) > keep:
            for request in live.pop(0):
                request.free()
        assert pool.free_block_ids == silent.free_block_ids
        for event in pool.take_events():
            if isinstance(event, BlockStored):
                for digest in event.block_hashes:
                    assert isinstance(digest, bytes)
                    known[digest] = known.get(digest, 0) + 1
            elif isinstance(event, BlockRemoved):
                (digest,) = event.block_hashes
                assert isinstance(digest, bytes)
                known[digest] -= 1
                if not known[digest]:
                    del known[digest]
        found = 0
        hasher = cache().request([*prompt, 0])
        for digest in map(bytes.fromhex, hasher.block_hashes[: len(prompt) // 4]):
            if digest not in known:
                break
            found += 4
        assert pool.lookup([*prompt, 0]) == found
